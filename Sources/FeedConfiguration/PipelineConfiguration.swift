public import FeedStore
public import Service

/// Everything that `feedstore` can be told in a configuration file, by environment variables or by `--set`.
public struct PipelineConfiguration: Sendable, Equatable {
  /// What the store is told.
  public var store = FeedStoreOptions()
  /// What happens when input is gone that was not read.
  public var lostInput = LostInputPolicy.fail
  /// Bytes after which a transaction of the daemon ends, at the next feed.
  public var maxTransactionBytes = 67_108_864
  /// Members of the group in this process.
  public var workers = 1
  /// How long a start may wait for what only an operator can end: topics that the brokers do not tell of, and connections
  /// that they refuse. In milliseconds.
  public var startupTimeoutMilliseconds: Int64 = 30_000
  /// Whether the process follows partitions that its workers do not have.
  public var standby = StandbyOptions()
  /// Whether and how feeds are served over HTTP.
  public var http = HTTPOptions()
  /// Whether librdkafka may be told to load libraries.
  public var allowsPlugins = false
  /// The settings under `kafka.` but for FeedStore's own, for librdkafka as they are, sorted by name.
  public var kafka: [ConfigurationPair] = []
  /// The least severe level that is logged.
  public var logLevel = LogLevel.info
  /// How it is logged.
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
  ) throws(ConfigurationError) -> PipelineConfiguration {
    try ConfigurationSources(file: file, assignments: assignments).load().configuration
  }

  /// Reads and checks the settings of a document.
  public init(_ document: ConfigurationDocument) throws(ConfigurationError) {
    (self, _) = try Self.read(document)
  }

  /// Reads and checks the settings of a document.
  ///
  /// - Returns: the configuration, and what was read of each key.
  static func read(
    _ document: ConfigurationDocument
  ) throws(ConfigurationError) -> (PipelineConfiguration, [ConfigurationReading]) {
    var reader = ConfigurationReader(document, isMasked: isMasked)
    var configuration = PipelineConfiguration()
    try configuration.read(&reader)
    try reader.finish()
    try configuration.checkSizes(reader)
    try configuration.checkTopics(reader)
    try configuration.checkPlugins(reader)
    return (configuration, reader.readings)
  }

  /// Every key there is, but for those under `kafka.` that are librdkafka's.
  public static var keys: [String] {
    var reader = ConfigurationReader(ConfigurationDocument())
    var configuration = PipelineConfiguration()
    do {
      try configuration.read(&reader)
    } catch {
      preconditionFailure("the defaults are refused: \(error)")
    }
    return reader.knownKeys
  }
}
