package import FeedKafka
import Kafka
package import Service

extension KafkaSettings {
  /// For what needs a cluster that is there, and gives up as the configuration says.
  ///
  /// - Throws: ``ConfigurationError`` for a property that FeedStore owns, or without a broker's address.
  package init(_ configuration: PipelineConfiguration) throws(ConfigurationError) {
    try self.init(configuration.kafka)
    connectionFaults = ConnectionFaults(patienceMilliseconds: configuration.startupTimeoutMilliseconds)
  }

  /// For what can bring a cluster along, and gives up as the configuration says.
  ///
  /// - Throws: ``ConfigurationError`` for a property that FeedStore owns, or without a broker's address.
  package init(
    _ configuration: PipelineConfiguration,
    embedded: [ConfigurationPair]?
  ) throws(ConfigurationError) {
    try self.init(configuration.kafka, embedded: embedded)
    connectionFaults = ConnectionFaults(patienceMilliseconds: configuration.startupTimeoutMilliseconds)
  }
}
