import FeedKafka
import Kafka
import Service
import SimulationSupport

@testable import FeedWorker

/// The clients of a worker in a simulated process, and its clock.
///
/// Unchecked: everything is on one thread.
struct SimulatedClients: WorkerClients, @unchecked Sendable {
  let network: SimulatedNetwork
  let process: SimulatedProcess
  /// How many records a producer takes before some are delivered.
  let queueCapacity: Int

  private func number(_ configuration: KafkaConfiguration, _ name: String, _ otherwise: Int64) -> Int64 {
    configuration[name].flatMap { Int64($0) } ?? otherwise
  }

  func makeConsumer(_ configuration: KafkaConfiguration, log: Log) throws(KafkaError) -> any GroupConsumer {
    var options = ConsumerOptions()
    options.hasGroup = true
    options.instanceID = configuration["group.instance.id"]
    options.sessionTimeout = number(configuration, "session.timeout.ms", 10_000)
    options.maxPollInterval = number(configuration, "max.poll.interval.ms", 300_000)
    options.failsOutOfRange = configuration["auto.offset.reset"] == "error"
    options.pausesAssigned = true
    return SimulatedGroupConsumer(SimulatedConsumer(network, process, options))
  }

  func makeProducer(_ configuration: KafkaConfiguration, log: Log) throws(KafkaError) -> any TransactionClient
  {
    SimulatedTransactions(
      SimulatedProducer(
        network,
        process,
        transactionalID: configuration["transactional.id"] ?? "",
        timeoutMilliseconds: number(configuration, "transaction.timeout.ms", 60_000),
        capacity: queueCapacity
      )
    )
  }

  func makeChangesets(
    _ settings: KafkaSettings,
    topic: String,
    log: Log
  ) throws(KafkaError) -> any RestoreSource {
    var uncommitted = ConsumerOptions()
    uncommitted.isolation = .readUncommitted
    return RestoreReader(
      topic: topic,
      reader: makeReader(),
      measurer: SimulatedGroupConsumer(SimulatedConsumer(network, process, uncommitted))
    )
  }

  /// A consumer that reads committed records.
  func makeReader() -> SimulatedGroupConsumer {
    SimulatedGroupConsumer(SimulatedConsumer(network, process, ConsumerOptions()))
  }

  func makeProbe(_ settings: KafkaSettings, log: Log) throws(KafkaError) -> any GroupProbe {
    var uncommitted = ConsumerOptions()
    uncommitted.isolation = .readUncommitted
    return SimulatedGroupConsumer(SimulatedConsumer(network, process, uncommitted))
  }

  func milliseconds() -> Int64 { (network.simulator.now + process.busy) / 1_000 }
}
