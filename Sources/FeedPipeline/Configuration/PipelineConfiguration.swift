public import FeedStore
public import Service

/// Everything that `feedstore` can be told in a configuration file or by `--set`.
public struct PipelineConfiguration: Sendable, Equatable {
  /// What the store is told.
  public var store = FeedStoreOptions()
  /// What happens when input is gone that was not read.
  public var lostInput = LostInputPolicy.fail
  /// Bytes after which a transaction of the daemon ends, at the next feed.
  public var maxTransactionBytes = 67_108_864
  /// Members of the group in this process.
  public var workers = 1
  /// How long the start may fail in a way that only an operator can end: in milliseconds.
  public var startupTimeoutMilliseconds: Int64 = 30_000
  /// Whether and how feeds are served over HTTP.
  public var http = HTTPOptions()
  /// The settings under `kafka.` but for FeedStore's own, for librdkafka as they are, sorted by name.
  public var kafka: [ConfigurationPair] = []
  /// The least severe level that is logged.
  public var logLevel = LogLevel.info

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
    var document = ConfigurationDocument()
    if let file { document = try ConfigurationDocument(file: file) }
    for assignment in assignments { try document.set(assignment) }
    return try PipelineConfiguration(document)
  }

  /// Reads and checks the settings of a document.
  public init(_ document: ConfigurationDocument) throws(ConfigurationError) {
    var reader = ConfigurationReader(document)
    try read(&reader)
    try reader.finish()
    try checkSizes(reader)
    try checkTopics(reader)
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
