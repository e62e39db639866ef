import Testing

@testable import Kafka

/// An embedded cluster and the clients of one test, which are closed at its end.
final class Fixture {
  let cluster: EmbeddedCluster
  private var closings: [() throws -> Void] = []

  init(brokerCount: Int = 1) throws {
    cluster = try EmbeddedCluster(brokerCount: brokerCount, log: Self.log)
  }

  deinit {
    for close in closings { #expect(throws: Never.self) { try close() } }
    cluster.stop()
  }

  static let log: KafkaLogHandler = { _, _, _ in }
  private static let closeMilliseconds: Int32 = 120_000

  func configuration(_ properties: KeyValuePairs<String, String> = [:]) -> KafkaConfiguration {
    var configuration: KafkaConfiguration = ["bootstrap.servers": cluster.bootstrapServers]
    for (name, value) in properties { configuration[name] = value }
    return configuration
  }

  func consumer(
    _ properties: KeyValuePairs<String, String> = [:],
    log: @escaping KafkaLogHandler = Fixture.log
  ) throws -> Consumer {
    var configuration = configuration(properties)
    configuration.setDefaults(["auto.offset.reset": "earliest"])
    let consumer = try Consumer(configuration: configuration, log: log)
    closings.append { try consumer.close(timeoutMilliseconds: Self.closeMilliseconds) }
    return consumer
  }

  func producer(_ properties: KeyValuePairs<String, String> = [:]) throws -> Producer {
    let producer = try Producer(configuration: configuration(properties), log: Self.log)
    closings.append { try producer.close(timeoutMilliseconds: Self.closeMilliseconds) }
    return producer
  }

  func transactionalProducer(
    _ properties: KeyValuePairs<String, String> = [:]
  ) throws -> TransactionalProducer {
    let producer = try TransactionalProducer(configuration: configuration(properties), log: Self.log)
    closings.append { try producer.close(timeoutMilliseconds: Self.closeMilliseconds) }
    return producer
  }

  func admin() throws -> AdminClient {
    let admin = try AdminClient(configuration: configuration(), log: Self.log)
    closings.append { try admin.close(timeoutMilliseconds: Self.closeMilliseconds) }
    return admin
  }

  /// A transactional producer that its coordinator knows.
  func registeredProducer() throws -> TransactionalProducer {
    let producer = try transactionalProducer(["transactional.id": "one"])
    try producer.initTransactions(timeoutMilliseconds: 120_000)
    return producer
  }

  /// Creates a topic with records "0", "1", … in each partition.
  func fill(_ topic: String, partitions: Int32, recordsEach: Int) throws {
    try cluster.createTopic(topic, partitions: partitions)
    let producer = try producer()
    for partition in 0..<partitions {
      try producer.produce(topic, partition, (0..<recordsEach).map(String.init))
    }
    try producer.flush(timeoutMilliseconds: 120_000)
    #expect(producer.takeDeliveryErrors().isEmpty)
    try producer.close(timeoutMilliseconds: 120_000)
  }
}

extension Producer {
  /// Produces texts without keys.
  func produce(_ topic: String, _ partition: Int32, _ texts: [String]) throws {
    for text in texts {
      try withBytes(text) { value in
        try produce(topic: topic, partition: partition, key: nil, value: value)
      }
    }
  }
}

/// Calls with the bytes of a text; nil stays nil.
func withBytes<Result>(_ text: String?, _ body: (UnsafeRawBufferPointer?) throws -> Result) rethrows -> Result
{
  guard let text else { return try body(nil) }
  return try Array(text.utf8).withUnsafeBytes { try body($0) }
}

/// Copies bytes into a text; nil stays nil.
func text(_ bytes: UnsafeRawBufferPointer?) -> String? {
  bytes.map { String(decoding: $0, as: UTF8.self) }
}

/// A record, copied out of its batch.
struct Record: Equatable {
  var topic: String
  var partition: Int32
  var offset: Int64
  var value: String?
}

/// Polls one consumer and copies its records.
final class Collector {
  let consumer: Consumer
  let batch: MessageBatch
  var records: [Record] = []
  var events: [ConsumerEvent] = []
  private var rebalance: Rebalance?

  init(_ consumer: Consumer, maxMessages: Int = 1_000) {
    self.consumer = consumer
    batch = consumer.makeBatch(capacity: maxMessages)
  }

  func values(_ partition: Int32) -> [String?] {
    records.filter { $0.partition == partition }.map(\.value)
  }

  var ends: [Int32: Int64] {
    var ends: [Int32: Int64] = [:]
    for case .endOfPartition(_, let partition, let offset) in events {
      ends[partition] = offset
    }
    return ends
  }

  func pollOnce(timeoutMilliseconds: Int32 = 50) throws {
    try consumer.poll(into: batch, timeoutMilliseconds: timeoutMilliseconds)
    for index in 0..<batch.count {
      let message = batch[index]
      records.append(
        Record(
          topic: consumer.topicName(at: message.topicIndex),
          partition: message.partition,
          offset: message.offset,
          value: text(message.payload)
        )
      )
    }
    events += batch.events
    rebalance = batch.rebalance ?? rebalance
  }

  /// The rebalance that a poll has returned since the last call. The same one may come twice in a row: nothing is gained in two
  /// rounds.
  func takeRebalance() -> Rebalance? {
    defer { rebalance = nil }
    return rebalance
  }

  /// Polls until the condition holds. The limit of five minutes only ends a broken test.
  func poll(
    until condition: () -> Bool,
    _ comment: Comment,
    location: SourceLocation = #_sourceLocation
  ) throws {
    let giveUp = ContinuousClock.now + .seconds(300)
    while !condition() {
      try #require(ContinuousClock.now < giveUp, comment, sourceLocation: location)
      try pollOnce()
    }
  }
}
