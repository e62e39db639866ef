import Feed
import FeedConfiguration
import FeedKafka
import FeedStore
import FeedWorker
import Kafka
import Service
import Synchronization

/// Writes records to the input for HTTP clients, and answers when the brokers have them, or when they are published.
///
/// Every instance writes records of every feed. Only the one whose worker has the feed's partition knows when a record is
/// published.
///
/// Unchecked: the producer and what it delivers are used only on the thread of ``run()``.
final class EventWriter: @unchecked Sendable {
  /// Who waits for an answer.
  struct Client: Sendable {
    let feed: ByteText
    /// How long it wants to wait until its record is published; nil if the brokers' word is enough.
    let wait: Duration?
    let response: HTTPLaterResponse
  }

  /// One request.
  struct Write: Sendable {
    let client: Client
    let value: [UInt8]

    fileprivate var key: [UInt8] { Array(client.feed.string.utf8) }
  }

  private struct Delivery {
    let write: Write
    let partition: Int32
    /// Its number among ``AwaitedWrites``.
    let awaited: Int?
  }

  private struct Waiting {
    var writes: [Write] = []
    /// All that have no offset yet.
    var count = 0
    var bytes = 0
    var isOver = false
  }

  private let settings: KafkaSettings
  private let topic: String
  private let status: DaemonStatus
  private let log: Log
  private let waiting = Mutex(Waiting())
  private let wakes: AsyncStream<Void>
  private let wake: AsyncStream<Void>.Continuation

  private var producer: Producer?
  /// Whether it has to be made again.
  private var isBroken = false
  private var partitioner: Murmur2Partitioner?
  /// What the brokers have not confirmed, by the producer's numbers.
  private var deliveries: [Int: Delivery] = [:]

  /// The most records, and bytes of them, that the brokers do not have yet.
  private static let mostWrites = 10_000
  private static let mostBytes = 64 << 20
  private static let metadataMilliseconds: Int32 = 5_000
  private static let pollMilliseconds: Int32 = 5
  private static let closeMilliseconds: Int32 = 1_000

  init(_ configuration: FeedStoreConfiguration, _ settings: KafkaSettings, _ status: DaemonStatus, _ log: Log)
  {
    self.settings = settings
    // One topic for all events, so that those of a feed keep their order.
    topic = configuration.store.topics.items
    self.status = status
    self.log = log
    (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// Takes a record whose form is right, to answer its client later.
  ///
  /// - Returns: false if too many wait, or the process stops.
  func write(_ write: Write) -> Bool {
    let isTaken = waiting.withLock { waiting in
      guard !waiting.isOver, waiting.count < Self.mostWrites, waiting.bytes < Self.mostBytes else {
        return false
      }
      waiting.writes.append(write)
      waiting.count += 1
      waiting.bytes += write.value.count
      return true
    }
    if isTaken { wake.yield() }
    return isTaken
  }

  // MARK: On the thread

  /// Writes until the task is cancelled. It blocks its thread.
  func run() async {
    for await _ in wakes { deliver() }
    let left = waiting.withLock { waiting in
      waiting.isOver = true
      return waiting.writes
    }
    // No client is left without an answer.
    status.writes.release(nil)
    for write in left + deliveries.values.map(\.write) { write.client.response.give(Self.stopping) }
    try? producer?.close(timeoutMilliseconds: Self.closeMilliseconds)
  }

  private func deliver() {
    repeat {
      let writes = waiting.withLock { waiting in
        defer { waiting.writes = [] }
        return waiting.writes
      }
      var failure: KafkaError?
      for write in writes {
        // What took its time to fail is not tried again for each.
        if let failure { fail(write, Self.unsent(failure)) } else { failure = produce(write) }
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

  /// - Returns: why no record can be produced; nil if some can.
  private func produce(_ write: Write) -> KafkaError? {
    let (producer, partition): (Producer, Int32)
    do throws(KafkaError) {
      (producer, partition) = try route(write)
    } catch {
      fail(write, Self.unsent(error))
      return error
    }
    let awaited = write.client.wait.map { _ in expect(write.client, in: partition) }
    do throws(KafkaError) {
      try write.key.withUnsafeBufferPointer { (key) throws(KafkaError) in
        try write.value.withUnsafeBufferPointer { (value) throws(KafkaError) in
          try producer.produce(
            topic: topic,
            partition: partition,
            key: UnsafeRawBufferPointer(key),
            value: UnsafeRawBufferPointer(value)
          )
        }
      }
      deliveries[producer.producedCount] = Delivery(write: write, partition: partition, awaited: awaited)
    } catch {
      if let awaited { status.writes.forget(awaited) }
      fail(write, Self.unsent(error))
      if error.isFatal { isBroken = true }
    }
    return nil
  }

  /// A producer for a record, and its partition.
  private func route(_ write: Write) throws(KafkaError) -> (Producer, Int32) {
    guard status.topicChanges.isEmpty else {
      let detail = "a topic has another number of partitions than at the start; restart all instances"
      throw .make(.unknownPartition, "choose a partition of \(topic)", detail: detail)
    }
    if producer == nil {
      producer = try Producer(configuration: settings.writer, log: log.kafkaHandler)
      producer?.onDelivery = { [unowned self] number, result in end(number, result) }
    }
    if partitioner == nil {
      let metadata = try producer!.metadata([topic], timeoutMilliseconds: Self.metadataMilliseconds)
      guard let count = metadata.partitionCounts[topic] else {
        throw .make(.unknownTopic, "write to \(topic)")
      }
      partitioner = Murmur2Partitioner(partitionCount: count)
    }
    return (producer!, write.key.withUnsafeBytes { partitioner!.partition(forKey: $0) })
  }

  private func expect(_ client: Client, in partition: Int32) -> Int {
    status.writes.expect(client.feed, in: TopicPartition(topic: topic, partition: partition)) {
      [topic] outcome, offset in
      let place = Place(topic: topic, partition: partition, offset: offset)
      switch outcome {
      case .published(let version): client.response.give(Self.published(client, place, version))
      case .rejected(let rejection): client.response.give(Self.rejected(rejection))
      case .unknown: client.response.give(Self.accepted(client, place))
      }
    }
  }

  /// The brokers have a record, or do not.
  private func end(_ number: Int, _ result: Result<Int64, KafkaError>) {
    guard let delivery = deliveries.removeValue(forKey: number) else { return }
    let client = delivery.write.client
    let writes = status.writes
    switch result {
    case .failure(let error):
      if let awaited = delivery.awaited { writes.forget(awaited) }
      fail(delivery.write, Self.undelivered(error))
      if error.isFatal || producer?.hasFailed == true { isBroken = true }
    case .success(let offset):
      settle(delivery.write)
      let place = Place(topic: topic, partition: delivery.partition, offset: offset)
      let accepted = Self.accepted(client, place)
      guard let awaited = delivery.awaited, let wait = client.wait else {
        return client.response.give(accepted)
      }
      guard offset >= 0, status.owns(delivery.partition) else {
        writes.forget(awaited)
        return client.response.give(accepted)
      }
      writes.deliver(awaited, at: offset)
      // It holds the answer and not the record.
      Task { [response = client.response] in
        try? await Task.sleep(for: wait)
        if writes.forget(awaited) { response.give(accepted) }
      }
    }
  }

  private func fail(_ write: Write, _ response: HTTPResponse) {
    settle(write)
    write.client.response.give(response)
  }

  private func settle(_ write: Write) {
    waiting.withLock { waiting in
      waiting.count -= 1
      waiting.bytes -= write.value.count
    }
  }
}

/// The answers.
extension EventWriter {
  /// Where a record is.
  private struct Place {
    let topic: String
    let partition: Int32
    /// Negative if the brokers have not told it.
    let offset: Int64
  }

  private static func document(
    _ client: Client,
    _ place: Place,
    _ version: PublishedVersion? = nil
  ) -> JSONObject {
    [
      "feed": client.feed.string,
      "topic": place.topic,
      "partition": place.partition,
      "offset": place.offset < 0 ? nil : place.offset,
      "epoch": version.map { String(decoding: $0.epoch, as: UTF8.self) },
      "revision": version?.revision,
    ]
  }

  /// The brokers have it.
  private static func accepted(_ client: Client, _ place: Place) -> HTTPResponse {
    var response = document(client, place).response
    response.status = 202
    return response
  }

  private static func published(
    _ client: Client,
    _ place: Place,
    _ version: PublishedVersion?
  ) -> HTTPResponse {
    var response = document(client, place, version).response
    if let wait = client.wait {
      response.headers.append(HTTPField("Preference-Applied", "wait=\(wait.components.seconds)"))
    }
    return response
  }

  static func rejected(_ rejection: Rejection) -> HTTPResponse {
    .problem(status: 422, code: rejection.code.rawValue, detail: rejection.message)
  }

  /// Nothing of it has gone to the brokers.
  private static func unsent(_ error: KafkaError) -> HTTPResponse {
    if error.kind == .messageTooLarge { return undelivered(error) }
    return .unavailable(code: "not-written", "nothing was written: \(error); send it again")
  }

  private static func undelivered(_ error: KafkaError) -> HTTPResponse {
    if error.kind == .messageTooLarge || error.kind == .recordListTooLarge {
      return .problem(
        status: 413,
        code: "record-too-large",
        detail: "the brokers refuse the record: \(error)"
      )
    }
    return .unavailable(
      code: "not-written",
      "the brokers have not confirmed the record, and may have it: \(error); send it again if that is safe"
    )
  }

  private static var stopping: HTTPResponse {
    .unavailable(
      code: "stopping",
      "this instance stops, and the brokers have not confirmed the record; send it again if that is safe"
    )
  }

  static var tooMany: HTTPResponse {
    .unavailable(code: "too-many-writes", "too many records wait for the brokers; try again later")
  }
}
