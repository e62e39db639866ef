import CRdkafka
import FeedStore
import FeedTestSupport
import Foundation
import Kafka
import ObservationSupport
import Oracle

/// Members of a group in numbered places. Each can be replaced by one of another build.
struct RollingGroup {
  private let run: BrokerRun
  /// Whether the place of a member is its name in the group, so that its partitions wait for the next one.
  private let isStatic: Bool
  private var members: [Member] = []

  init(_ run: BrokerRun, isStatic: Bool) {
    self.run = run
    self.isStatic = isStatic
  }

  /// Starts a member in a new place.
  mutating func add(_ build: Build) throws {
    members.append(try start(build, in: members.count))
  }

  /// Ends a member, orderly or without warning, starts another in its place, and waits until that one has partitions
  /// and all are served.
  mutating func replace(_ place: Int, by build: Build, isKilled: Bool = false) async throws {
    if isKilled { try await run.kill(members[place]) } else { try await run.stop(members[place]) }
    members[place] = try start(build, in: place)
    try await waitForRecords()
  }

  /// Kills a member, and its successor as well, in the middle of a transaction.
  mutating func breakOff(_ place: Int, _ build: Build) async throws {
    try await run.kill(members[place])
    // Not the first one, which the predecessor may have begun.
    members[place] = try start(build, in: place, crash: "after-offsets:20")
    try await run.waitForEnd(of: members[place])
  }

  /// Waits until every member has restored a partition, and something more is published to each.
  func waitForRecords() async throws {
    let members = members
    try await run.wait("partitions of \(members.map(\.name))") { _ in
      members.allSatisfy { !$0.restorations.isEmpty }
    }
    try await run.waitForRecordsInAllPartitions()
  }

  private func start(_ build: Build, in place: Int, crash: String? = nil) throws -> Member {
    let settings = isStatic ? ["kafka.group.instance.id": "place-\(place)"] : [:]
    return try run.start(settings, build: build, crash: crash)
  }
}

/// A member of the daemons' group that assigns partitions by `range`, as daemons formerly did.
///
/// Unchecked: librdkafka's functions may be called from any thread.
final class RangeMember: @unchecked Sendable {
  private let client: OpaquePointer

  init(_ topics: TestTopics) throws(BrokerFailure) {
    // It has no callbacks, so it accepts its assignment by itself.
    client = try topics.rawClient(
      RD_KAFKA_CONSUMER,
      [
        ("group.id", topics.prefix), ("partition.assignment.strategy", "range"),
        ("enable.auto.commit", "false"),
      ]
    )
    let names = rd_kafka_topic_partition_list_new(2)
    defer { rd_kafka_topic_partition_list_destroy(names) }
    for name in [topics.names.sections, topics.names.items] {
      rd_kafka_topic_partition_list_add(names, name, RD_KAFKA_PARTITION_UA)
    }
    let result = rd_kafka_subscribe(client, names)
    try BrokerFailure.check(result == RD_KAFKA_RESP_ERR_NO_ERROR, "\(result)")
  }

  /// Whether the group has assigned partitions to it.
  var hasPartitions: Bool {
    var partitions: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
    guard rd_kafka_assignment(client, &partitions) == RD_KAFKA_RESP_ERR_NO_ERROR, let partitions else {
      return false
    }
    defer { rd_kafka_topic_partition_list_destroy(partitions) }
    return partitions.pointee.cnt > 0
  }

  /// Leaves the group.
  func leave() throws(BrokerFailure) {
    let result = rd_kafka_consumer_close(client)
    try BrokerFailure.check(result == RD_KAFKA_RESP_ERR_NO_ERROR, "\(result)")
  }

  deinit { rd_kafka_destroy(client) }
}

/// A build of the command.
enum Build: String, Sendable, CaseIterable {
  /// A build of an earlier commit, by `Tests/SuiteRunner/earlier_build.py`.
  case earlier
  /// The build of this commit, with the tests.
  case current

  /// - Throws: an error if it does not exist.
  var command: URL {
    get throws {
      switch self {
      case .current: return try BuiltCommand.url
      case .earlier:
        guard let path = TestCluster.earlierCommand else {
          throw BrokerFailure("FEEDSTORE_TEST_EARLIER names no earlier build; run: make test-upgrade")
        }
        return URL(fileURLWithPath: path)
      }
    }
  }

  /// The other one.
  var other: Build { self == .earlier ? .current : .earlier }

  /// A configuration as options of the command line.
  static func options(_ settings: [String: String]) -> [String] {
    settings.sorted { $0.key < $1.key }.flatMap { ["--set", "\($0.key)=\($0.value)"] }
  }
}
