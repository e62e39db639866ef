import FeedKafka
import FeedStore
import Kafka
import Service

@testable import FeedWorker

/// librdkafka's clients, with producers whose delivery errors are there only after an abort.
///
/// librdkafka 2.0.2 fails the calls of a transaction before it reports the record that is to blame; on a busy machine
/// much later.
struct LateReports: WorkerClients {
  private let clients = KafkaClients()

  func makeProducer(_ configuration: KafkaConfiguration, log: Log) throws(KafkaError) -> any TransactionClient
  {
    LateProducer(try TransactionalProducer(configuration: configuration, log: log.kafkaHandler))
  }

  func makeConsumer(_ configuration: KafkaConfiguration, log: Log) throws(KafkaError) -> any GroupConsumer {
    try clients.makeConsumer(configuration, log: log)
  }

  func makeChangesets(
    _ settings: KafkaSettings,
    topic: String,
    log: Log
  ) throws(KafkaError) -> any RestoreSource {
    try clients.makeChangesets(settings, topic: topic, log: log)
  }

  func makeProbe(_ settings: KafkaSettings, log: Log) throws(KafkaError) -> any GroupProbe {
    try clients.makeProbe(settings, log: log)
  }

  func milliseconds() -> Int64 { clients.milliseconds() }
}

private final class LateProducer: TransactionClient {
  private let producer: TransactionalProducer
  private var isAborted = false

  init(_ producer: TransactionalProducer) { self.producer = producer }

  var onStatistics: ((ClientStatistics) -> Void)? {
    get { producer.onStatistics }
    set { producer.onStatistics = newValue }
  }

  func abort(timeoutMilliseconds: Int32) throws(KafkaError) {
    try producer.abort(timeoutMilliseconds: timeoutMilliseconds)
    isAborted = true
  }

  func poll(timeoutMilliseconds: Int32) throws(KafkaError) -> Bool {
    let hasErrors = try producer.poll(timeoutMilliseconds: timeoutMilliseconds)
    return isAborted && hasErrors
  }

  func takeDeliveryErrors() -> DeliveryErrors {
    isAborted ? producer.takeDeliveryErrors() : DeliveryErrors()
  }

  // MARK: The same

  func initTransactions(timeoutMilliseconds: Int32) throws(KafkaError) {
    try producer.initTransactions(timeoutMilliseconds: timeoutMilliseconds)
  }

  func deliveredEnd(of partition: TopicPartition) -> Int64? { producer.deliveredEnd(of: partition) }

  func begin() throws(KafkaError) { try producer.begin() }

  func queue(_ part: borrowing Publication, by writer: inout PublicationWriter) throws(KafkaError) {
    try producer.queue(part, by: &writer)
  }

  func sendOffsets(
    _ offsets: [TopicPartition: CommittedOffset],
    _ membership: any GroupMembership,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) {
    try producer.sendOffsets(offsets, membership, timeoutMilliseconds: timeoutMilliseconds)
  }

  func flush(timeoutMilliseconds: Int32) throws(KafkaError) {
    try producer.flush(timeoutMilliseconds: timeoutMilliseconds)
  }

  func commit(timeoutMilliseconds: Int32) throws(KafkaError) {
    try producer.commit(timeoutMilliseconds: timeoutMilliseconds)
  }

  func close(timeoutMilliseconds: Int32) throws(KafkaError) {
    try producer.close(timeoutMilliseconds: timeoutMilliseconds)
  }
}
