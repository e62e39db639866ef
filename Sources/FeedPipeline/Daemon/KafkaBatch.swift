import Feed
import FeedStore
import Kafka

/// What a poll brought, as input for the store: views of librdkafka's messages, without a copy.
///
/// Unchecked: it belongs to the worker's thread, on which the store runs as well.
final class KafkaBatch: InputBatch, @unchecked Sendable {
  private let consumer: Consumer
  private let messages: MessageBatch
  private var next = 0
  /// The topics' names by the consumer's numbers, once they are seen.
  private var topics: [[UInt8]?] = []

  init(_ consumer: Consumer, capacity: Int) {
    self.consumer = consumer
    messages = consumer.makeBatch(capacity: capacity)
  }

  /// Fills it again. What it held must have been taken.
  func poll(timeoutMilliseconds: Int32) throws(KafkaError) {
    next = 0
    try consumer.poll(into: messages, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Notes where the reading of the batch's partitions began.
  ///
  /// Apart from the poll, in the midst of which a rebalance changes the positions as well.
  func note(in positions: inout InputPositions) {
    var last: (topic: Int, partition: Int32)?
    for index in 0..<messages.count {
      let message = messages[index]
      // Records of one partition come together.
      if let last, last == (message.topicIndex, message.partition) { continue }
      last = (message.topicIndex, message.partition)
      let topic = consumer.topicName(at: message.topicIndex)
      positions.note(TopicPartition(topic: topic, partition: message.partition), offset: message.offset)
    }
  }

  /// Records that the last poll brought.
  var count: Int { messages.count }
  var isEmpty: Bool { messages.isEmpty }

  /// Errors and ends of partitions that the last poll brought.
  var events: [ConsumerEvent] { messages.events }

  /// Drops what is left, to be read again.
  func discard() {
    messages.recycle()
    next = 0
  }

  // MARK: InputBatch

  func current() -> InputRecord? {
    guard next < messages.count else { return nil }
    let message = messages[next]
    return InputRecord(
      partition: message.partition,
      position: RecordPosition(
        topic: topicName(at: message.topicIndex),
        offset: message.offset,
        // -1 says that the record has none.
        timestamp: max(0, message.timestampMilliseconds)
      ),
      key: message.key.map { ByteSpan($0) },
      value: message.payload.map { .bytes(ByteSpan($0)) } ?? .null
    )
  }

  func advance() { next += 1 }

  private func topicName(at index: Int) -> [UInt8] {
    if index < topics.count, let name = topics[index] { return name }
    while topics.count <= index { topics.append(nil) }
    let name = Array(consumer.topicName(at: index).utf8)
    topics[index] = name
    return name
  }
}
