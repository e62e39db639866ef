import CRdkafka
import Changesets
import Diagnostics
import FeedKafka
import FeedStore
import SimulationSupport

@testable import FeedTransactions
@testable import Kafka

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
    options.group = configuration["group.id"] ?? options.group
    options.instanceID = configuration["group.instance.id"]
    options.sessionTimeout = number(configuration, "session.timeout.ms", 10_000)
    options.maxPollInterval = number(configuration, "max.poll.interval.ms", 300_000)
    options.failsOutOfRange = configuration["auto.offset.reset"] == "error"
    options.pausesAssigned = true
    return SimulatedConsumer(network, process, options)
  }

  func makeProducer(
    _ configuration: KafkaConfiguration,
    reportsEnds: Bool,
    log: Log
  ) throws(KafkaError) -> any TransactionClient {
    SimulatedProducer(
      network,
      process,
      transactionalID: configuration["transactional.id"] ?? "",
      timeoutMilliseconds: number(configuration, "transaction.timeout.ms", 60_000),
      capacity: queueCapacity
    )
  }

  func makeChangesets(
    _ settings: KafkaSettings,
    topic: String,
    log: Log
  ) throws(KafkaError) -> RestoreReader {
    RestoreReader(topic: topic, reader: makeReader(), measurer: makeReader(.readUncommitted))
  }

  func makeReader(_ isolation: IsolationLevel = .readCommitted) -> SimulatedConsumer {
    var options = ConsumerOptions()
    options.isolation = isolation
    return SimulatedConsumer(network, process, options)
  }

  func makeReader(_ settings: KafkaSettings, log: Log) throws(KafkaError) -> any RecordConsumer {
    makeReader()
  }

  func makeProbe(_ settings: KafkaSettings, log: Log) throws(KafkaError) -> any GroupProbe {
    makeReader(.readUncommitted)
  }

  func milliseconds() -> Int64 { (network.simulator.now + process.busy) / 1_000 }
}

// Simulated clients as a worker sees them.

extension SimulatedConsumer: GroupConsumer, GroupProbe {
  func metadataByName(
    _ topics: [String],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> TopicMetadata {
    try metadata(topics, timeoutMilliseconds: timeoutMilliseconds)
  }

  func membership() throws(KafkaError) -> any GroupMembership { try groupMembership() }

  func wakeFetcher(of partition: TopicPartition) {}
}

extension SimulatedMembership: GroupMembership {
  var member: String? { memberID }
}

extension SimulatedProducer: TransactionClient {
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
    try produce(record, to: TopicPartition(topic: topic, partition: partition))
  }

  func sendOffsets(
    _ offsets: [TopicPartition: CommittedOffset],
    _ membership: any GroupMembership,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) {
    guard let membership = membership as? SimulatedMembership else {
      preconditionFailure("offsets of a consumer of another kind")
    }
    try sendOffsets(offsets, membership, timeoutMilliseconds: timeoutMilliseconds)
  }
}
