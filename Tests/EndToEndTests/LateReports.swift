import Changesets
import Diagnostics
import FeedKafka

@testable import FeedTransactions
@testable import Kafka

/// librdkafka's clients, with producers whose delivery errors arrive only after an abort.
///
/// librdkafka 2.0.2 fails the calls of a transaction before it reports the failed record; on a busy machine much
/// later.
struct LateReports: WorkerClients {
  private let clients = KafkaClients()

  func makeProducer(
    _ configuration: KafkaConfiguration,
    reportsEnds: Bool,
    log: Log
  ) throws(KafkaError) -> any TransactionClient {
    try LateProducer(configuration: configuration, log: log.kafkaHandler)
  }

  func makeConsumer(_ configuration: KafkaConfiguration, log: Log) throws(KafkaError) -> any GroupConsumer {
    try clients.makeConsumer(configuration, log: log)
  }

  func makeChangesets(
    _ settings: KafkaSettings,
    topic: String,
    log: Log
  ) throws(KafkaError) -> RestoreReader {
    try clients.makeChangesets(settings, topic: topic, log: log)
  }

  func makeReader(_ settings: KafkaSettings, log: Log) throws(KafkaError) -> any RecordConsumer {
    try clients.makeReader(settings, log: log)
  }

  func makeProbe(_ settings: KafkaSettings, log: Log) throws(KafkaError) -> any GroupProbe {
    try clients.makeProbe(settings, log: log)
  }

  func milliseconds() -> Int64 { clients.milliseconds() }
}

private final class LateProducer: TransactionalProducer {
  private var isAborted = false

  override func abort(timeoutMilliseconds: Int32) throws(KafkaError) {
    try super.abort(timeoutMilliseconds: timeoutMilliseconds)
    isAborted = true
  }

  override func poll(timeoutMilliseconds: Int32) throws(KafkaError) -> Bool {
    let hasErrors = try super.poll(timeoutMilliseconds: timeoutMilliseconds)
    return isAborted && hasErrors
  }

  override func takeDeliveryErrors() -> DeliveryErrors {
    isAborted ? super.takeDeliveryErrors() : DeliveryErrors()
  }
}
