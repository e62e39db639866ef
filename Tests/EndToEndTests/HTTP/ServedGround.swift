import ChangesetTestSupport
import Diagnostics
import Feed
import FeedStatus
import FeedStore
import FoundationEssentials
import HTTP
import HTTPTestSupport
import Kafka
import KafkaTestSupport
import ObservationSupport
import OperatingSystem
import Settings
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
  ///   - contents: the topic of contents, which does not exist yet.
  ///   - topicError: the brokers' error about the topic from the beginning.
  ///   - pauses: controls the pauses after failures.
  init(
    partitions: Int32 = 1,
    isAssigned: Bool = true,
    contents: String? = nil,
    topicError: KafkaErrorCode? = nil,
    token: BearerToken? = nil,
    log: Log = Ground.quiet,
    pauses: PauseGate = PauseGate(),
    _ change: (inout HTTPOptions) -> Void = { _ in }
  ) throws {
    cluster = try EmbeddedCluster(log: { _, _, _ in })
    try cluster.createTopic(Self.topic, partitions: partitions)
    try cluster.setTopicError(Self.topic, topicError)
    var configuration = FeedStoreConfiguration()
    configuration.http.isEnabled = true
    configuration.store.topics.contents = contents
    configuration.http.server.port = 0
    configuration.http.server.threads = 1
    configuration.http.server.maxConnections = 64
    // Clients that read nothing must not be disconnected, however busy the machine is.
    configuration.http.server.idleTimeoutSeconds = 3600
    change(&configuration.http)
    let settings = try KafkaSettings([
      ConfigurationPair(name: "bootstrap.servers", value: cluster.bootstrapServers),
      ConfigurationPair(name: "fetch.wait.max.ms", value: "20"),
    ])
    let tokens = AcceptedTokens(bearer: token)
    let server = try DaemonServer(configuration, settings, tokens: tokens, StopRequest(), log) {
      try await pauses.pass($0)
    }
    self.server = server
    port = try #require(Int(server.url.split(separator: ":").last ?? ""))
    running = Task { await server.run() }
    if isAssigned { assign(0..<partitions) }
  }

  /// Reports to the server that a worker has restored these partitions.
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
        var stored = TopicRecord(partition: partition, timestamp: 1, key: record.key, value: record.value)
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
    try await until("\(line) is answered with \(status)") {
      let response = try ask(line)
      return response.status == status ? response : nil
    }
  }

  /// Opens a stream of a feed, once the feed is known.
  func follow(
    _ feed: String,
    _ query: String = "",
    after version: String? = nil,
    receiveBufferBytes: Int32? = nil
  ) async throws -> EventReader {
    _ = try await ask("GET /v1/feeds/\(PercentEncoding.encode(feed))\(query)", until: 200)
    return try #require(try await open(feed, query, after: version, receiveBufferBytes: receiveBufferBytes))
  }

  /// The tag of a feed's state without quotes, once the state contains a text.
  func tag(of feed: String, containing text: String) async throws -> String {
    try await until("\(feed) has \(text)") {
      let response = try ask("GET /v1/feeds/\(PercentEncoding.encode(feed))")
      return response.text.contains(text) ? response["ETag"].map { String($0.dropFirst().dropLast()) } : nil
    }
  }

  /// Opens a stream; nil if that is refused.
  func open(
    _ feed: String,
    _ query: String = "",
    after version: String? = nil,
    receiveBufferBytes: Int32? = nil
  ) async throws -> EventReader? {
    let path = PercentEncoding.encode(feed)
    let client = try HTTPTestClient(port: port, receiveBufferBytes: receiveBufferBytes)
    let condition = version.map { "Last-Event-ID: \($0)\r\n" } ?? ""
    try client.send("GET /v1/feeds/\(path)/changes\(query) HTTP/1.1\r\nHost: localhost\r\n\(condition)\r\n")
    let reader = EventReader(client)
    return try await reader.status() == 200 ? reader : nil
  }
}

/// Reads an event stream message by message on a separate thread, because blocking reads must not occupy the
/// cooperative pool.
final class EventReader: @unchecked Sendable {
  // Unchecked: the client is used on the thread only, one call after the other.
  private let client: HTTPTestClient
  private let thread = WorkerThread(name: "event reader")
  private var text = ""

  /// One message.
  struct Message: Equatable {
    var id: String?
    var name: String?
    var data = ""
  }

  /// - Parameter client: a client that has sent its request.
  init(_ client: HTTPTestClient) { self.client = client }

  deinit { thread.stop() }

  /// The status of the response; call it first.
  func status() async throws -> Int {
    try await withTaskExecutorPreference(thread) { @concurrent in try self.client.head().status }
  }

  /// A response that is not a stream.
  func response() async throws -> HTTPTestResponse {
    try await withTaskExecutorPreference(thread) { @concurrent in try self.client.response() }
  }

  /// The next message; nil at the end of the stream. Comments and `retry` are skipped.
  func next() async throws -> Message? {
    try await withTaskExecutorPreference(thread) { @concurrent in try self.read() }
  }

  /// The next message with a name, or without one; nil at the end of the stream. Others are skipped.
  func next(named name: String?) async throws -> Message? {
    while let message = try await next() {
      if message.name == name { return message }
    }
    return nil
  }

  /// The next changeset as sent; nil at the end of the stream.
  func nextChangeset() async throws -> String? { try await next(named: nil)?.data }

  /// Closes the connection.
  func end() async {
    await withTaskExecutorPreference(thread) { @concurrent in self.client.end() }
  }

  private func read() throws -> Message? {
    while true {
      while let end = text.firstRange(of: "\n\n") {
        let block = text[..<end.lowerBound]
        let message = Self.message(block)
        text.removeSubrange(..<end.upperBound)
        if let message { return message }
      }
      let chunk = try client.chunk()
      if chunk.isEmpty { return nil }
      text += chunk
    }
  }

  private static func message(_ block: Substring) -> Message? {
    var message = Message()
    var lines: [Substring] = []
    for line in block.split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else { continue }
      let value = parts[1].dropFirst()
      switch parts[0] {
      case "id": message.id = String(value)
      case "event": message.name = String(value)
      case "data": lines.append(value)
      default: continue
      }
    }
    guard !lines.isEmpty else { return nil }
    message.data = lines.joined(separator: "\n")
    return message
  }
}

/// A copy of a feed, updated from the messages of a stream, as a client has it.
final class StreamedReplica {
  private let feed: String
  private let replicas = ReplicaPartition()
  private(set) var lastID: String?
  /// The number of messages that could not be applied, because something was missing.
  private(set) var faults = 0

  init(_ feed: String) { self.feed = feed }

  /// Applies a message with a changeset.
  func take(_ message: EventReader.Message) throws {
    if let id = message.id { lastID = id }
    // On the topic, a part of a reload has its number as key, and other records a delta's key.
    let part = message.data.firstMatch(of: /^[^\[]*"part":([0-9]+)/).map { String($0.1) } ?? "0"
    let isReload = message.data.contains(/^[^\[]*"mode":"reload"/)
    let key = Array("\(isReload ? "k\(part)" : "d1")/\(feed)".utf8)
    switch try replicas.apply(key, Array(message.data.utf8)) {
    case .gap, .otherEpoch, .mismatch: faults += 1
    case .applied, .removed, .skipped, .waitingForParts: break
    }
  }

  /// `<epoch>@<revision>`; nil if the feed does not exist.
  var version: String? {
    replicas.version(of: feed).map { "\(String(decoding: $0.epoch, as: UTF8.self))@\($0.revision)" }
  }

  /// The feed as a server would send it; nil if there is none.
  var document: String? {
    guard let replica = replicas.replica(of: feed), let version = replicas.version(of: feed) else {
      return nil
    }
    let bytes = replica.snapshot().reload(
      of: feed,
      version: version,
      timeMilliseconds: replica.timeMilliseconds
    )
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// The response of `GET /v1/feeds`.
struct Page: Decodable {
  struct Entry: Decodable {
    let feed: String
    let partition: Int
    let revision: Int
    let items: Int
    let otherPartitions: [Int]?
  }

  let count: Int
  let feeds: [Entry]
  let next: String?

  init(_ response: HTTPTestResponse) throws {
    self = try JSONDecoder().decode(Page.self, from: Data(response.body))
  }
}

/// Pauses whose end the test controls.
struct PauseGate: Sendable {
  private let begun = AsyncStream<Duration>.makeStream()
  private let ended = AsyncStream<Void>.makeStream()

  /// Waits in a pause; called by the code under test.
  func pass(_ duration: Duration) async throws {
    begun.continuation.yield(duration)
    for await _ in ended.stream { return }
    throw CancellationError()
  }

  /// Waits for the next pause.
  ///
  /// - Returns: its duration.
  func next() async -> Duration? { await begun.stream.first { _ in true } }

  /// Ends the current pause.
  func open() { ended.continuation.yield() }
}
