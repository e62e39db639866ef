public import FeedStore
import Kafka
public import Service

/// A Kafka cluster within the process, with FeedStore's topics. Nothing outlives the process.
public final class EmbeddedBroker: Sendable {
  private let cluster: EmbeddedCluster

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
    do {
      cluster = try EmbeddedCluster(log: log.kafkaHandler)
      for name in topics.distinct {
        try cluster.createTopic(name, partitions: partitionCount)
      }
    } catch {
      throw DaemonError(error)
    }
  }

  /// The value of `bootstrap.servers` for clients on this machine.
  public var bootstrapServers: String { cluster.bootstrapServers }

  /// What clients are to be told besides what the user tells them.
  ///
  /// A request for records that finds none is answered only when its time is over, not when there are some.
  var properties: [ConfigurationPair] {
    [
      ConfigurationPair(name: "bootstrap.servers", value: bootstrapServers),
      ConfigurationPair(name: "fetch.wait.max.ms", value: "20"),
    ]
  }

  /// Ends it; everything in it is gone.
  public func stop() { cluster.stop() }
}

extension TopicNames {
  /// The input topics; one if both are the same.
  var inputs: [String] { sections == items ? [items] : [sections, items] }

  /// All topics, each once.
  var distinct: [String] { inputs + [changesets, rejected] }
}
