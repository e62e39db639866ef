import Diagnostics
import Feed
import FeedClient
import FeedConfiguration
import FeedKafka
import FeedStatus
import FeedStore
import HTTP
import Kafka
import Synchronization

/// Writes clients' records to the input, and answers once the brokers have them, or once they are published.
///
/// Every instance writes records of every feed. ``WriteOutcomes`` detect the publication.
///
/// Unchecked: the producer and its delivery reports are used only on the thread of ``run()``.
final class EventWriter: @unchecked Sendable {
  /// One request.
  struct Write: Sendable {
    let topic: String
    /// The id of a feed or a content.
    let id: ByteText
    /// Nil deletes a content.
    let value: [UInt8]?
    /// The maximum wait for the publication; nil to answer once the brokers have the record.
    var wait: Duration?
    /// The value of the header of this name.
    var authorization: String?
    let response: HTTPLaterResponse

    fileprivate var key: [UInt8] { Array(id.string.utf8) }
    fileprivate var byteCount: Int { value?.count ?? 0 }
  }

  private struct Waiting {
    var writes: [Write] = []
    /// All records without an offset.
    var count = 0
    var bytes = 0
    var isOver = false
  }

  private let settings: KafkaSettings
  let topic: String
  /// The topic of contents; nil if there is none.
  let contents: String?
  let outcomes: WriteOutcomes
  private let status: DaemonStatus
  private let log: Log
  /// Checks the form of events like workers.
  private let decoder: Mutex<RecordDecoder>
  private let waiting = Mutex(Waiting())
  private let wake = FeedStreams.Signal()

  private var producer: Producer?
  /// Whether it must be replaced.
  private var isBroken = false
  /// By topic.
  private var partitioners: [String: Murmur2Partitioner] = [:]
  /// The unconfirmed records, by the producer's numbers.
  private var deliveries: [Int: (write: Write, partition: Int32)] = [:]

  /// The maximum number of unconfirmed records, and of their bytes.
  private static let mostWrites = 10_000
  private static let mostBytes = 64 << 20
  private static let metadataMilliseconds: Int32 = 5_000
  private static let pollMilliseconds: Int32 = 5
  private static let closeMilliseconds: Int32 = 1_000

  /// - Parameter directory: nil if instances do not announce their addresses.
  init(
    _ configuration: FeedStoreConfiguration,
    _ settings: KafkaSettings,
    _ status: DaemonStatus,
    _ client: FeedClient,
    _ directory: InstanceDirectory?,
    _ log: Log
  ) {
    outcomes = WriteOutcomes(status, client, directory)
    self.settings = settings
    // One topic for all events, to keep the order of each feed's events.
    topic = configuration.store.topics.items
    contents = configuration.store.topics.contents
    self.status = status
    self.log = log
    decoder = Mutex(RecordDecoder(limits: configuration.store.limits))
  }

  /// Accepts a valid record; its client is answered later.
  ///
  /// - Returns: false if too many records wait, or the process stops.
  func write(_ write: Write) -> Bool {
    let isTaken = waiting.withLock { waiting in
      guard !waiting.isOver, waiting.count < Self.mostWrites, waiting.bytes < Self.mostBytes else {
        return false
      }
      waiting.writes.append(write)
      waiting.count += 1
      waiting.bytes += write.byteCount
      return true
    }
    if isTaken { wake.yield() }
    return isTaken
  }

  /// Checks a record like a worker that does not have its feed.
  ///
  /// - Returns: whether the record has conditions.
  func check(_ feed: ByteText, _ value: [UInt8]) throws(Rejection) -> Bool {
    let result = decoder.withLock { decoder in
      feed.withBytes { key in
        value.withUnsafeBytes { value in
          Result { () throws(Rejection) in
            try decoder.decode(key: key, value: ByteSpan(value))
            return decoder.hasConditions
          }
        }
      }
    }
    return try result.get()
  }

  /// Checks a record of a content like the store.
  func check(content id: ByteText, _ value: [UInt8]?) throws(Rejection) {
    let result = decoder.withLock { decoder in
      id.withBytes { key in
        (value ?? []).withUnsafeBytes { bytes in
          Result { () throws(Rejection) in
            let record = InputRecord(
              partition: 0,
              position: RecordPosition(topic: [], offset: 0, timestamp: 0),
              key: key,
              value: value == nil ? .null : .bytes(ByteSpan(bytes))
            )
            _ = try decoder.decodeContent(record)
          }
        }
      }
    }
    try result.get()
  }

  // MARK: On the thread

  /// Writes until the task is cancelled. It blocks its thread.
  func run() async {
    for await _ in wake.all { deliver() }
    let left = waiting.withLock { waiting in
      waiting.isOver = true
      return waiting.writes
    }
    // Every client receives an answer.
    outcomes.stop()
    for write in left + deliveries.values.map(\.write) { write.response.give(Self.stopping.response) }
    try? producer?.close(timeoutMilliseconds: Self.closeMilliseconds)
  }

  private func deliver() {
    repeat {
      let writes = waiting.withLock { waiting in
        defer { waiting.writes = [] }
        return waiting.writes
      }
      var failures: [String: KafkaError] = [:]
      for write in writes {
        // After a slow failure, the remaining records of the topic fail at once.
        if let failure = failures[write.topic] {
          fail(write, failure, isSent: false)
        } else {
          failures[write.topic] = produce(write)
        }
      }
      if deliveries.isEmpty {
        if isBroken {
          try? producer?.close(timeoutMilliseconds: Self.closeMilliseconds)
          producer = nil
          isBroken = false
        }
        return
      }
      _ = try? producer?.poll(timeoutMilliseconds: Self.pollMilliseconds)
    } while !Task.isCancelled
  }

  /// - Returns: the reason why no record can be produced; nil if some can.
  private func produce(_ write: Write) -> KafkaError? {
    let (producer, partition): (Producer, Int32)
    do throws(KafkaError) {
      (producer, partition) = try route(write)
    } catch {
      fail(write, error, isSent: false)
      return error
    }
    do throws(KafkaError) {
      let key = OwnedBytes(write.key)
      let value = OwnedBytes(write.value)
      try producer.produce(topic: write.topic, partition: partition, key: key.bytes, value: value.bytes)
      deliveries[producer.producedCount] = (write, partition)
    } catch {
      fail(write, error, isSent: false)
    }
    return nil
  }

  /// The producer for a record, and the record's partition.
  private func route(_ write: Write) throws(KafkaError) -> (Producer, Int32) {
    guard status.topicChanges.isEmpty else {
      let detail = "a topic has another number of partitions than at the start; restart all instances"
      throw .make(.unknownPartition, "choose a partition of \(write.topic)", detail: detail)
    }
    if producer == nil {
      producer = try Producer(configuration: settings.writer, log: log.kafkaHandler)
      producer?.onDelivery = { [unowned self] number, result in end(number, result) }
    }
    let topic = write.topic
    if partitioners[topic] == nil {
      let metadata = try producer!.metadata([topic], timeoutMilliseconds: Self.metadataMilliseconds)
      guard let count = metadata.partitionCounts[topic] else {
        throw .make(.unknownTopic, "write to \(topic)")
      }
      partitioners[topic] = Murmur2Partitioner(partitionCount: count)
    }
    return (producer!, write.key.withUnsafeBytes { partitioners[topic]!.partition(forKey: $0) })
  }

  /// Handles a delivery report.
  private func end(_ number: Int, _ result: Result<Int64, KafkaError>) {
    guard let (write, partition) = deliveries.removeValue(forKey: number) else { return }
    switch result {
    case .failure(let error): fail(write, error, isSent: true)
    case .success(let offset):
      settle(write)
      let record = WriteOutcomes.Record(
        feed: write.id,
        place: TopicPartition(topic: write.topic, partition: partition),
        offset: offset,
        authorization: write.authorization,
        member: write.topic == topic ? "feed" : "content"
      )
      outcomes.answer(record, write.wait, write.response)
    }
  }

  private func fail(_ write: Write, _ error: KafkaError, isSent: Bool) {
    if error.isFatal || producer?.hasFailed == true { isBroken = true }
    settle(write)
    write.response.give(Self.refusal(error, isSent: isSent).response)
  }

  private func settle(_ write: Write) {
    waiting.withLock { waiting in
      waiting.count -= 1
      waiting.bytes -= write.byteCount
    }
  }
}

extension Rejection {
  /// - Parameter mayRead: whether the client may know what a condition has found.
  func response(mayRead: Bool = true) -> HTTPResponse {
    guard code == .conditionFailed else {
      return .problem(status: 422, code: code.rawValue, detail: message)
    }
    let detail =
      mayRead ? message : "a condition does not hold; the token does not allow reading what is there"
    return .problem(status: 412, code: code.rawValue, detail: detail)
  }
}

/// The answers.
extension EventWriter {
  /// - Parameter isSent: whether the brokers may have the record.
  private static func refusal(_ error: KafkaError, isSent: Bool) -> HTTPRefusal {
    if error.kind == .messageTooLarge || error.kind == .recordListTooLarge {
      return HTTPRefusal(413, "record-too-large", "the brokers refuse the record: \(error)")
    }
    return .unavailable(
      "not-written",
      isSent
        ? "the brokers have not confirmed the record, and may have it: \(error); send it again if that is safe"
        : "nothing was written: \(error); send it again"
    )
  }

  private static let stopping = HTTPRefusal.unavailable(
    "stopping",
    "this instance stops, and the brokers have not confirmed the record; send it again if that is safe"
  )
  static let tooMany = HTTPRefusal.unavailable(
    "too-many-writes",
    "too many records wait for the brokers; try again later"
  )
}
