import Feed
import FeedStore
import FeedTestSupport
import HTTP
import Kafka
import KafkaTestSupport
import ObservationSupport
import Settings
import Testing

@testable import FeedConfiguration
@testable import FeedTools

/// `feedstore doctor`; the suite of security runs it on secured brokers.
struct DoctorTests {
  private static func findings(_ configuration: FeedStoreConfiguration) async throws -> [Doctor.Finding] {
    var doctor = Doctor(configuration, log: Ground.quiet)
    try await doctor.run()
    #expect(doctor.isFit == !doctor.findings.contains { $0.verdict == .fails })
    #expect(doctor.table.split(separator: "\n").count == doctor.findings.count)
    return doctor.findings
  }

  private static func texts(of check: String, _ findings: [Doctor.Finding]) -> [String] {
    findings.filter { $0.check == check }.map { "\($0.verdict.rawValue) \($0.text)" }
  }

  @Test func `it reads topics, offsets and the state, and changes nothing`() async throws {
    var ground = try Ground(partitions: 2)
    defer { ground.cluster.stop() }
    let value = #"{"op":"item.upsert","item":"a","section":"s"}"#
    try ground.produce([TopicRecord(partition: 1, timestamp: 0, "f", value)], to: "feeds.items")
    _ = try await ground.runDaemon(applying: 1)
    let stored = try ground.contents(of: "feeds.changesets", partitions: 2)
    try ground.cluster.createTopic("contents", partitions: 1)
    ground.configuration.store.topics.contents = "contents"
    let findings = try await Self.findings(ground.configuration)
    #expect(
      Self.texts(of: "right to read", findings)
        == ["ok feeds.sections", "ok feeds.items", "ok contents", "ok feeds.changesets"]
    )
    let unknown = Self.texts(of: "topics", findings).first ?? "nothing"
    #expect(unknown.hasPrefix("? ") && unknown.hasSuffix("an embedded broker does not report them"))
    // The embedded broker keeps no offsets of transactions.
    #expect(Self.texts(of: "group", findings) == ["ok feedstore has committed offsets of 0 of 4 partitions"])
    let latest = Dictionary(stored.map { ($0.key, $0.value) }) { $1 }.values.reduce(0) {
      $0 + ($1?.count ?? 0)
    }
    #expect(Self.texts(of: "memory", findings).first?.contains("the state has \(latest) B,") == true)
    #expect(try ground.contents(of: "feeds.changesets", partitions: 2).count == stored.count)
  }

  @Test func `a group that the user may not see is named, and needed for nothing else`() async throws {
    let ground = try Ground(partitions: 1)
    defer { ground.cluster.stop() }
    let denials = [KafkaErrorCode](repeating: .groupAuthorizationFailed, count: 1_000)
    try ground.cluster.pushRequestErrors(.findCoordinator, denials)
    let findings = try await Self.findings(ground.configuration)
    let group = Self.texts(of: "group", findings)
    #expect(group.count == 1 && group[0].hasPrefix("fails GROUP_AUTHORIZATION_FAILED: "))
    #expect(group[0].hasSuffix("grant the client's user READ on the group"))
    let read = Self.texts(of: "right to read", findings)
    #expect(read == ["ok feeds.sections", "ok feeds.items", "ok feeds.changesets"])
  }

  @Test func `missing topics, sources and brokers are named`() async throws {
    let ground = try Ground(partitions: 1)
    defer { ground.cluster.stop() }
    var configuration = ground.configuration
    configuration.store.topics.rejected = "elsewhere"
    let missing = try await Self.findings(configuration)
    #expect(
      Self.texts(of: "topics", missing).contains { $0.hasPrefix("fails elsewhere: partitions missing") }
    )
    #expect(Self.texts(of: "rights", missing) == ["? they can be checked when the topics exist"])

    configuration.kafka = [ConfigurationPair(name: "bootstrap.servers", value: "127.0.0.1:1")]
    let unreachable = try await Self.findings(configuration)
    let refused = "127.0.0.1:1: Connect to ipv4#127.0.0.1:1 failed: Connection refused; check bootstrap"
    #expect(Self.texts(of: "brokers", unreachable).first?.contains(refused) == true)
  }

  @Test func `wrong files and limits are named`() async throws {
    let ground = try Ground(partitions: 1)
    defer { ground.cluster.stop() }
    var configuration = ground.configuration
    configuration.store.limits.maxStateBytes = .max
    configuration.kafka.append(ConfigurationPair(name: "ssl.key.location", value: "/nowhere/key"))
    configuration.http.isEnabled = true
    configuration.http.tokenFile = "/nowhere/token"
    configuration.http.tlsCertificate = "/nowhere/certificate"
    configuration.http.server.maxConnections = 100_000_000
    let findings = try await Self.findings(configuration)
    func first(_ check: String) -> String { Self.texts(of: check, findings).first ?? "nothing" }
    #expect(first("tokens").hasPrefix("fails http.tokenFile: cannot read /nowhere/token"))
    #expect(first("HTTPS").hasPrefix("fails http.tls.key is empty"))
    #expect(first("http.tls.certificate").hasPrefix("fails cannot read /nowhere/certificate"))
    #expect(first("key files").hasPrefix("fails kafka.ssl.key.location: cannot read /nowhere/key"))
    #expect(first("open files").contains("raise its limit"))
    #expect(first("memory").hasPrefix("look "))
    #expect(first("right to read") == "ok feeds.sections")
  }
}
