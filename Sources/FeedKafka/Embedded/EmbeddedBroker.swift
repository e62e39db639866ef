package import Diagnostics
package import FeedStore
import Kafka
package import Settings

/// A Kafka cluster inside the process, with FeedStore's topics. Its data ends with the process.
///
/// It keeps 5 MiB of each partition and drops the oldest records. Clients of other processes therefore connect through
/// a gate, which holds back producers until this process has read the earlier input. Slower consumers miss records.
package final class EmbeddedBroker: Sendable {
  private let cluster: EmbeddedCluster
  private let listener: GatedListener
  /// The read positions of this process's workers.
  package let backlog = InputBacklog()

  /// The largest accepted record, in bytes of key, value and headers. The rest is for the other parts of a request.
  package static let greatestRecordBytes = ProduceCredit.greatestRequestBytes - 1_024

  /// The number of partitions of each topic.
  package static let partitionCount: Int32 = 4

  /// Starts the cluster and creates its topics, and other ungated ones.
  ///
  /// - Throws: ``DaemonError`` if the cluster cannot start.
  package init(topics: TopicNames, others: [String] = [], log: Log) throws(DaemonError) {
    let gate: InputGate
    do throws(KafkaError) {
      cluster = try EmbeddedCluster(log: log.kafkaHandler)
      for name in topics.distinct + others { try cluster.createTopic(name, partitions: Self.partitionCount) }
      let servers = cluster.bootstrapServers
      let inputs = topics.inputs.flatMap { name in
        (0..<Self.partitionCount).map { TopicPartition(topic: name, partition: $0) }
      }
      gate = try InputGate(["bootstrap.servers": servers], inputs: inputs, backlog: backlog, log: log)
    } catch {
      throw DaemonError(error)
    }
    guard let port = cluster.bootstrapServers.split(separator: ":").last.flatMap({ UInt16($0) }),
      let listener = GatedListener(brokerPort: port, gate: gate)
    else {
      throw DaemonError(.kafka, "the embedded broker cannot listen on a port of 127.0.0.1")
    }
    self.listener = listener
  }

  /// The value of `bootstrap.servers` for clients on this machine.
  package var bootstrapServers: String { "127.0.0.1:\(listener.port)" }

  /// Additional properties for the process's own clients, which bypass the gate.
  ///
  /// The mock cluster answers an empty fetch only after its wait time, even if records arrive earlier, so that time is
  /// short.
  package var properties: [ConfigurationPair] {
    [
      ConfigurationPair(name: "bootstrap.servers", value: cluster.bootstrapServers),
      ConfigurationPair(name: "fetch.wait.max.ms", value: "20"),
    ]
  }

  /// Stops the cluster and discards its data.
  package func stop() {
    listener.stop()
    cluster.stop()
  }
}
