package import Diagnostics
package import FeedKafka
package import FeedStore
import Kafka
package import Settings

/// All settings of `feedstore`, from the configuration file, environment variables and `--set`.
package struct FeedStoreConfiguration: Sendable, Equatable {
  package var store = FeedStoreOptions()
  package var lostInput = LostInputPolicy.fail
  package var maxTransactionBytes = 67_108_864
  /// The maximum size of all contents, with their ids.
  package var maxContentsBytes = 1_073_741_824
  package var workers = 1
  package var startupTimeoutMilliseconds: Int64 = 30_000
  package var standby = StandbyOptions()
  package var http = HTTPOptions()
  package var ingest = IngestOptions()
  package var allowsPlugins = false
  /// The program that prints tokens for the brokers, and its arguments; empty if there is none.
  package var oauthCommand: [String] = []
  /// The properties under `kafka.` that are passed to librdkafka, sorted by name.
  package var kafka: [ConfigurationPair] = []
  package var logLevel = LogLevel.info
  package var logFormat = LogFormat.text

  package init() {}

  /// Reads and checks the settings of a document.
  ///
  /// - Returns: the configuration, and the reading of each key.
  package static func read(
    _ document: ConfigurationDocument
  ) throws(ConfigurationError) -> (configuration: FeedStoreConfiguration, readings: [ConfigurationReading]) {
    var reader = ConfigurationReader(document, isMasked: isMasked)
    var configuration = FeedStoreConfiguration()
    try configuration.read(&reader)
    try reader.finish()
    try configuration.checkSizes(reader)
    try configuration.checkTopics(reader)
    try configuration.ingest.check(configuration, reader)
    try configuration.checkPlugins(reader)
    return (configuration, reader.readings)
  }

  /// All keys, except librdkafka's properties under `kafka.`.
  package static var keys: [String] { defaults.knownKeys }

  /// All keys with their defaults, and the patterns of properties.
  package static var declarations: [ConfigurationKey] { defaults.declarations }

  private static var defaults: ConfigurationReader {
    var reader = ConfigurationReader(ConfigurationDocument())
    var configuration = FeedStoreConfiguration()
    do {
      try configuration.read(&reader)
    } catch {
      preconditionFailure("the defaults are refused: \(error)")
    }
    return reader
  }
}

/// The daemon's action if a topic has lost input that the group has not read (`kafka.onLostInput`).
package enum LostInputPolicy: String, Sendable, CaseIterable {
  /// Stops, and reports the gap.
  case fail
  /// Continues with the oldest available record, and reports the gap.
  case `continue`
}

/// Whether a daemon follows partitions that its workers do not own, so that a takeover reads only the latest records.
package struct StandbyOptions: Sendable, Equatable {
  package var isEnabled = false
  /// The maximum state of these partitions, in bytes by the formula of `StateSize`.
  package var maxBytes = 1 << 30

  package init() {}
}

extension KafkaSettings {
  /// Settings with the configured startup timeout and source of tokens; see ``init(_:embedded:mayEmbed:)``.
  package init(
    _ configuration: FeedStoreConfiguration,
    embedded: [ConfigurationPair]? = nil,
    mayEmbed: Bool = false
  ) throws(ConfigurationError) {
    try self.init(configuration.kafka, embedded: embedded, mayEmbed: mayEmbed)
    connectionFaults = ConnectionFaults(patienceMilliseconds: configuration.startupTimeoutMilliseconds)
    try configuration.checkOAuth()
    if !configuration.oauthCommand.isEmpty {
      tokens = TokenSource(obtain: TokenCommand(configuration.oauthCommand).run)
    }
  }
}
