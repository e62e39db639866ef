public import FeedStore
import Kafka
public import Service

/// A Kafka cluster within the process, with FeedStore's topics. Nothing outlives the process.
///
/// Of a partition it keeps 5 MiB, and drops what is oldest. So other processes' clients come by a gate, where those
/// that write wait until this process has read what was written before. Whoever reads and is slower than that misses
/// records.
public final class EmbeddedBroker: Sendable {
  private let cluster: EmbeddedCluster
  private let listener: GatedListener
  /// What the workers of this process have read.
  package let backlog = InputBacklog()

  /// Partitions of each topic.
  public static let partitionCount: Int32 = 4

  /// Starts it and creates the topics.
  ///
  /// - Throws: ``DaemonError`` if the machine does not allow it.
  public init(
    topics: TopicNames,
    partitionCount: Int32 = EmbeddedBroker.partitionCount,
    log: Log
  ) throws(DaemonError) {
    let gate: InputGate
    do throws(KafkaError) {
      cluster = try EmbeddedCluster(log: log.kafkaHandler)
      for name in topics.distinct {
        try cluster.createTopic(name, partitions: partitionCount)
      }
      let servers = cluster.bootstrapServers
      let inputs = topics.inputs.flatMap { name in
        (0..<partitionCount).map { TopicPartition(topic: name, partition: $0) }
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
  public var bootstrapServers: String { "127.0.0.1:\(listener.port)" }

  /// What the process's own clients are to be told besides what the user tells them: not to come by the gate.
  ///
  /// A request for records that finds none is answered only when its time is over, not when there are some.
  package var properties: [ConfigurationPair] {
    [
      ConfigurationPair(name: "bootstrap.servers", value: cluster.bootstrapServers),
      ConfigurationPair(name: "fetch.wait.max.ms", value: "20"),
    ]
  }

  /// What a client of the process is to be told that comes by the gate.
  package var gatedProperties: [ConfigurationPair] {
    [ConfigurationPair(name: "bootstrap.servers", value: bootstrapServers)]
  }

  /// Ends it; everything in it is gone.
  public func stop() {
    listener.stop()
    cluster.stop()
  }
}
