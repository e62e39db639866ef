package import FeedKafka
import Kafka
package import Service

extension KafkaSettings {
  /// Settings for an existing cluster, with the configured startup timeout.
  ///
  /// - Throws: ``ConfigurationError`` for a property that FeedStore owns, or without a broker's address.
  package init(_ configuration: FeedStoreConfiguration) throws(ConfigurationError) {
    try self.init(configuration.kafka)
    connectionFaults = ConnectionFaults(patienceMilliseconds: configuration.startupTimeoutMilliseconds)
  }

  /// Settings for an existing or an embedded cluster, with the configured startup timeout.
  ///
  /// - Throws: ``ConfigurationError`` for a property that FeedStore owns, or without a broker's address.
  package init(
    _ configuration: FeedStoreConfiguration,
    embedded: [ConfigurationPair]?
  ) throws(ConfigurationError) {
    try self.init(configuration.kafka, embedded: embedded)
    connectionFaults = ConnectionFaults(patienceMilliseconds: configuration.startupTimeoutMilliseconds)
  }
}
