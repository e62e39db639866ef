import CRdkafka
import FeedStore
import SimulationSupport

@testable import FeedWorker
@testable import Kafka

/// A simulated producer as a worker sees it.
final class SimulatedTransactions: TransactionClient, RecordProducer {
  private let producer: SimulatedProducer
  var onStatistics: ((ClientStatistics) -> Void)?

  init(_ producer: SimulatedProducer) { self.producer = producer }

  func initTransactions(timeoutMilliseconds: Int32) throws(KafkaError) {
    try producer.initTransactions(milliseconds: timeoutMilliseconds)
  }

  func deliveredEnd(of partition: TopicPartition) -> Int64? { producer.deliveredEnd(of: partition) }

  func begin() throws(KafkaError) { try producer.begin() }

  func queue(_ part: borrowing Publication, by writer: inout PublicationWriter) throws(KafkaError) {
    try writer.write(part, to: self)
  }

  func produce(
    topic: String,
    partition: Int32,
    key: UnsafeRawBufferPointer?,
    value: UnsafeRawBufferPointer?,
    headers: HeaderList,
    timestampMilliseconds: Int64
  ) throws(KafkaError) {
    let record = SimulatedRecord(
      key: key.map { Array($0) },
      value: value.map { Array($0) },
      headers: headers.entries.map { entry in
        let name = headers.bytes[entry.name_offset..<(entry.name_offset + entry.name_size)]
        let value =
          entry.value_size < 0 ? nil : headers.bytes[entry.value_offset...].prefix(Int(entry.value_size))
        return Header(name: String(decoding: name, as: UTF8.self), value: value.map { Array($0) })
      },
      timestamp: timestampMilliseconds
    )
    try producer.produce(record, to: TopicPartition(topic: topic, partition: partition))
  }

  func sendOffsets(
    _ offsets: [TopicPartition: CommittedOffset],
    _ membership: any GroupMembership,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) {
    guard let membership = membership as? SimulatedMembership else {
      preconditionFailure("offsets of a consumer of another kind")
    }
    try producer.sendOffsets(offsets, membership, milliseconds: timeoutMilliseconds)
  }

  func flush(timeoutMilliseconds: Int32) throws(KafkaError) {
    try producer.flush(milliseconds: timeoutMilliseconds)
  }

  func commit(timeoutMilliseconds: Int32) throws(KafkaError) {
    try producer.commit(milliseconds: timeoutMilliseconds)
  }

  func abort(timeoutMilliseconds: Int32) throws(KafkaError) {
    try producer.abort(milliseconds: timeoutMilliseconds)
  }

  func poll(timeoutMilliseconds: Int32) throws(KafkaError) -> Bool {
    try producer.poll(milliseconds: timeoutMilliseconds)
  }

  func takeDeliveryErrors() -> DeliveryErrors { producer.takeDeliveryErrors() }

  func close(timeoutMilliseconds: Int32) throws(KafkaError) { producer.close() }
}
