import FeedStore
import Kafka
import ObservationSupport
import OperatingSystem
import Oracle
import Synchronization

@testable import FeedKafka

/// Sends random records to the input topics while a run lasts, a few after each of the observer's polls.
///
/// All records of a feed go to one of the two topics, so that their order, and thereby the resulting state, is
/// determined.
final class Load: Sendable {
  private enum Wish { case running, paused, stopped }

  private struct State {
    var wish = Wish.paused
    /// Whether nothing is in flight.
    var isIdle = true
    var extra: [OracleRecord] = []
    var sent = 0
  }

  private let topics: TestTopics
  private let seed: UInt64
  private let options: GeneratorOptions
  private let recordsPerPoll: Int
  private let state = Mutex(State())

  private static let flushMilliseconds: Int32 = 10_000

  init(_ topics: TestTopics, seed: UInt64, options: GeneratorOptions, recordsPerPoll: Int) {
    self.topics = topics
    self.seed = seed
    self.recordsPerPoll = recordsPerPoll
    self.options = options
  }

  /// Whether all records were delivered; while the load is paused.
  var isIdle: Bool { state.withLock { $0.isIdle && $0.extra.isEmpty } }
  var sent: Int { state.withLock { $0.sent } }
  private var isStopped: Bool { state.withLock { $0.wish == .stopped } }

  func start() { wish(.running) }
  func pause() { wish(.paused) }
  func stop() { wish(.stopped) }

  /// Sends a record of a feed with the next ones, or alone while the load is paused.
  func send(feed: String, partition: Int32, _ value: String?) {
    let key = Array(feed.utf8)
    let record = OracleRecord(
      topic: topic(of: key),
      partition: Int(partition),
      offset: 0,
      key: key,
      value: value.map { Array($0.utf8) }
    )
    state.withLock { $0.extra.append(record) }
  }

  /// The topic for all records of a key.
  func topic(of key: [UInt8]?) -> String {
    let sum = (key ?? []).reduce(0) { $0 &+ Int($1) }
    return sum.isMultiple(of: 2) ? topics.names.sections : topics.names.items
  }

  /// Sends until it is stopped.
  func run(_ observer: Observer) async throws {
    let thread = WorkerThread(name: "load")
    defer { thread.stop() }
    try await withTaskExecutorPreference(thread) { @concurrent in try await send(observer) }
  }

  private func send(_ observer: Observer) async throws {
    var configuration = topics.client
    // Keeps the order of records that are retried.
    configuration["enable.idempotence"] = "true"
    let producer = try Producer(configuration: configuration, log: { _, _, _ in })
    defer { try? producer.close(timeoutMilliseconds: Self.flushMilliseconds) }
    var generator = RecordGenerator(seed: seed, options: options)
    while let records = next(&generator) {
      for record in records { try produce(record, producer) }
      try flush(producer)
      state.withLock { state in
        state.sent += records.count
        state.isIdle = true
      }
      do {
        try await observer.tick()
      } catch {
        // Both are stopped at the end of a run, in any order. If the observer ended otherwise, it reports the reason
        // itself.
        if isStopped { return }
        throw error
      }
    }
  }

  /// The records to send now; nil when it is stopped.
  private func next(_ generator: inout RecordGenerator) -> [OracleRecord]? {
    let (wish, extra) = state.withLock { state in
      defer { state.extra = [] }
      state.isIdle = false
      return (state.wish, state.extra)
    }
    switch wish {
    case .stopped: return nil
    case .paused: return extra
    case .running:
      let records = generator.records(recordsPerPoll).map { record in
        var record = record
        if let contents = topics.names.contents, record.topic == RecordGenerator.contentsTopic {
          // All records of a content are in one partition.
          record.topic = contents
          record.partition = (record.key ?? []).reduce(0) { $0 + Int($1) } % Int(topics.partitions)
        } else {
          record.topic = topic(of: record.key)
        }
        return record
      }
      return extra + records
    }
  }

  private func produce(_ record: OracleRecord, _ producer: Producer) throws {
    // The current time, because brokers delete old input.
    let key = OwnedBytes(record.key)
    let value = OwnedBytes(record.value)
    try producer.produce(
      topic: record.topic,
      partition: Int32(record.partition),
      key: key.bytes,
      value: value.bytes
    )
  }

  private func flush(_ producer: Producer) throws {
    while true {
      do throws(KafkaError) {
        try producer.flush(timeoutMilliseconds: Self.flushMilliseconds)
        break
      } catch {
        // Brokers may be down for a while; failed deliveries are reported below.
        if !error.isRetriable { throw error }
      }
    }
    let errors = producer.takeDeliveryErrors()
    try BrokerFailure.check(errors.isEmpty, "input could not be sent: \(errors.errors)")
  }

  private func wish(_ wish: Wish) {
    state.withLock { state in
      state.wish = wish
      state.isIdle = false
    }
  }
}
