import ChangesetTestSupport
import HTTPTestSupport
import Kafka
import Service
import Testing

@testable import FeedConfiguration
@testable import FeedHTTP
@testable import FeedKafka
@testable import FeedWorker

/// An embedded cluster with a changesets topic, and a server of its feeds without a daemon. The test publishes
/// changesets and assigns partitions.
final class ServedGround {
  let cluster: EmbeddedCluster
  let server: DaemonServer
  private let running: Task<Void, Never>
  private let port: Int

  static let topic = "feeds.changesets"

  /// - Parameters:
  ///   - partitions: the topic's partitions; all are served, unless `isAssigned` is false.
  ///   - pauses: controls the pauses after failures.
  init(
    partitions: Int32 = 1,
    isAssigned: Bool = true,
    token: BearerToken? = nil,
    log: Log = Ground.quiet,
    pauses: PauseGate = PauseGate(),
    _ change: (inout HTTPOptions) -> Void = { _ in }
  ) throws {
    cluster = try EmbeddedCluster(log: { _, _, _ in })
    try cluster.createTopic(Self.topic, partitions: partitions)
    var configuration = FeedStoreConfiguration()
    configuration.http.isEnabled = true
    configuration.http.port = 0
    configuration.http.threads = 1
    configuration.http.maxConnections = 64
    // Clients that read nothing must not be disconnected, however busy the machine is.
    configuration.http.idleTimeoutSeconds = 3600
    change(&configuration.http)
    let settings = try KafkaSettings([
      ConfigurationPair(name: "bootstrap.servers", value: cluster.bootstrapServers),
      ConfigurationPair(name: "fetch.wait.max.ms", value: "20"),
    ])
    let server = try DaemonServer(configuration, settings, token: token, StopRequest(), log) {
      try await pauses.pass($0)
    }
    self.server = server
    port = try #require(Int(server.url.split(separator: ":").last ?? ""))
    running = Task { await server.run() }
    if isAssigned { assign(0..<partitions) }
  }

  /// Tells the server that a worker has restored these partitions.
  func assign(_ partitions: Range<Int32>, to worker: Int = 0) {
    let inputs = partitions.flatMap { number in
      ["feeds.items", "feeds.sections"].map { TopicPartition(topic: $0, partition: number) }
    }
    server.status.assigned(inputs, to: worker)
    server.status.running(worker)
  }

  /// Stops everything.
  func end() async {
    running.cancel()
    await running.value
    cluster.stop()
  }

  /// Appends records to a partition of the changesets topic.
  func publish(_ records: [ChangesetSource.Record], partition: Int32 = 0) throws {
    try Ground.produce(
      records.map { record in
        var stored = StoredRecord(partition: partition, timestamp: 1, key: record.key, value: record.value)
        if let plan = record.plan { stored.headers["feedstore.plan"] = String(decoding: plan, as: UTF8.self) }
        return stored
      },
      to: Self.topic,
      ["bootstrap.servers": cluster.bootstrapServers]
    )
  }

  /// The records' values as text, without nulls.
  static func values(_ records: [ChangesetSource.Record]) -> [String] {
    records.compactMap { $0.value.map { String(decoding: $0, as: UTF8.self) } }
  }

  /// Opens a new connection.
  func connect(receiveBufferBytes: Int32? = nil) throws -> HTTPTestClient {
    try HTTPTestClient(port: port, receiveBufferBytes: receiveBufferBytes)
  }

  /// Sends one request on its own connection.
  func ask(_ line: String, _ headers: String...) throws -> HTTPTestResponse {
    let client = try HTTPTestClient(port: port)
    let fields = (["Host: localhost", "Connection: close"] + headers).map { $0 + "\r\n" }.joined()
    try client.send("\(line) HTTP/1.1\r\n\(fields)\r\n")
    return try client.response(isHead: line.hasPrefix("HEAD"))
  }

  /// Repeats a request until the response has a status.
  func ask(_ line: String, until status: Int) async throws -> HTTPTestResponse {
    while true {
      let response = try ask(line)
      if response.status == status { return response }
      await Task.yield()
    }
  }

  /// Opens a stream of a feed, once the feed is known.
  func follow(
    _ feed: String,
    _ query: String = "",
    after version: String? = nil,
    receiveBufferBytes: Int32? = nil
  ) async throws
    -> EventReader
  {
    _ = try await ask("GET /v1/feeds/\(PercentEncoding.encode(feed))\(query)", until: 200)
    return try #require(try await open(feed, query, after: version, receiveBufferBytes: receiveBufferBytes))
  }

  /// The tag of a feed's state without quotes, once the state contains a text.
  func tag(of feed: String, containing text: String) async throws -> String {
    while true {
      let response = try ask("GET /v1/feeds/\(PercentEncoding.encode(feed))")
      if response.text.contains(text), let tag = response["ETag"] {
        return String(tag.dropFirst().dropLast())
      }
      await Task.yield()
    }
  }

  /// Opens a stream; nil if that is refused.
  func open(
    _ feed: String,
    _ query: String = "",
    after version: String? = nil,
    receiveBufferBytes: Int32? = nil
  ) async throws
    -> EventReader?
  {
    let path = PercentEncoding.encode(feed)
    let client = try HTTPTestClient(port: port, receiveBufferBytes: receiveBufferBytes)
    let condition = version.map { "Last-Event-ID: \($0)\r\n" } ?? ""
    try client.send("GET /v1/feeds/\(path)/changes\(query) HTTP/1.1\r\nHost: localhost\r\n\(condition)\r\n")
    let reader = EventReader(client)
    return try await reader.status() == 200 ? reader : nil
  }
}
