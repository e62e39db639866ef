public import FeedStore
public import Service

/// All settings of `feedstore`, from the configuration file, environment variables and `--set`.
public struct FeedStoreConfiguration: Sendable, Equatable {
  /// The options of the store.
  public var store = FeedStoreOptions()
  /// What happens if a topic has lost unread input.
  public var lostInput = LostInputPolicy.fail
  /// Above this size, a transaction of the daemon ends after the current feed. In bytes.
  public var maxTransactionBytes = 67_108_864
  /// The number of group members in this process.
  public var workers = 1
  /// How long a start waits for conditions that only an operator can fix: topics that the brokers do not know, and
  /// refused connections. In milliseconds.
  public var startupTimeoutMilliseconds: Int64 = 30_000
  /// Whether the process follows partitions that its workers do not have.
  public var standby = StandbyOptions()
  /// The HTTP server's options.
  public var http = HTTPOptions()
  /// Whether librdkafka may load libraries.
  public var allowsPlugins = false
  /// The properties under `kafka.` that are passed to librdkafka, sorted by name.
  public var kafka: [ConfigurationPair] = []
  /// The least severe level that is logged.
  public var logLevel = LogLevel.info
  /// The format of log lines.
  public var logFormat = LogFormat.text

  /// The defaults.
  public init() {}

  /// Reads a configuration: the defaults, overlaid by the file, overlaid by the assignments in their order.
  ///
  /// - Parameters:
  ///   - file: A JSON5 file; nil for none.
  ///   - assignments: `KEY=VALUE`, as given with `--set`.
  /// - Throws: ``ConfigurationError`` for the first mistake; it names the key, the value and what is allowed.
  public static func load(
    file: String?,
    assignments: [String]
  ) throws(ConfigurationError) -> FeedStoreConfiguration {
    try ConfigurationSources(file: file, assignments: assignments).load().configuration
  }

  /// Reads and checks the settings of a document.
  public init(_ document: ConfigurationDocument) throws(ConfigurationError) {
    (self, _) = try Self.read(document)
  }

  /// Reads and checks the settings of a document.
  ///
  /// - Returns: the configuration, and the reading of each key.
  static func read(
    _ document: ConfigurationDocument
  ) throws(ConfigurationError) -> (FeedStoreConfiguration, [ConfigurationReading]) {
    var reader = ConfigurationReader(document, isMasked: isMasked)
    var configuration = FeedStoreConfiguration()
    try configuration.read(&reader)
    try reader.finish()
    try configuration.checkSizes(reader)
    try configuration.checkTopics(reader)
    try configuration.checkPlugins(reader)
    return (configuration, reader.readings)
  }

  /// All keys, except librdkafka's properties under `kafka.`.
  public static var keys: [String] {
    var reader = ConfigurationReader(ConfigurationDocument())
    var configuration = FeedStoreConfiguration()
    do {
      try configuration.read(&reader)
    } catch {
      preconditionFailure("the defaults are refused: \(error)")
    }
    return reader.knownKeys
  }
}
