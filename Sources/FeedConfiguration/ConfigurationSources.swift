import FeedKafka
import Kafka
public import Service

/// What a configuration is made of. Later ones replace what earlier ones say: defaults, a command's own settings, the
/// file, environment variables, `--set`.
public struct ConfigurationSources: Sendable {
  /// What a command sets where nobody else does.
  public struct CommandSettings: Sendable {
    public var command: String
    public var settings: [ConfigurationPair]

    public init(command: String, settings: [ConfigurationPair]) {
      self.command = command
      self.settings = settings
    }
  }

  /// A JSON5 file; nil for none.
  public var file: String?
  /// The process's environment variables, of which those that begin with ``variablePrefix`` count; references may name
  /// any.
  public var environment: [String: String]
  /// `KEY=VALUE`, as given with `--set`.
  public var assignments: [String]
  public var command: CommandSettings?

  public static let variablePrefix = "FEEDSTORE_"

  public init(
    file: String?,
    environment: [String: String] = [:],
    assignments: [String] = [],
    command: CommandSettings? = nil
  ) {
    self.file = file
    self.environment = environment
    self.assignments = assignments
    self.command = command
  }

  /// Reads them all.
  ///
  /// - Throws: ``ConfigurationError`` for the first mistake; it names the key, the place, what is allowed, and the value
  ///   unless that is a secret.
  public func load() throws(ConfigurationError) -> LoadedConfiguration {
    var document = ConfigurationDocument()
    if let file { document = try ConfigurationDocument(file: file) }
    for pair in command?.settings ?? [] where document.entries[pair.name] == nil {
      document.set(pair.name, toText: pair.value, from: .command(command?.command ?? ""))
    }
    let unknown = Self.variables.apply(environment, to: &document)
    for assignment in assignments { try document.set(assignment) }
    try document.resolve { environment[$0] }
    let (configuration, readings) = try PipelineConfiguration.read(document)
    try configuration.checkKeyFiles()
    return LoadedConfiguration(configuration: configuration, readings: readings, unknownVariables: unknown)
  }

  /// Which environment variables there are.
  public static let variables = ConfigurationVariables(
    prefix: variablePrefix,
    keys: PipelineConfiguration.keys,
    passedSection: "kafka",
    isPassed: KafkaConfiguration.knows,
    passedNames: kafkaNames,
    reserved: reservedNames.map { variablePrefix + $0 }
  )

  /// Properties that are in use, to suggest one for a misspelt variable; librdkafka has more.
  private static let kafkaNames = [
    "bootstrap.servers", "broker.address.family", "client.id", "client.rack", "compression.type",
    "fetch.max.bytes",
    "fetch.wait.max.ms", "group.id", "group.instance.id", "heartbeat.interval.ms", "linger.ms",
    "max.poll.interval.ms",
    "message.max.bytes", "queue.buffering.max.kbytes", "queued.max.messages.kbytes",
    "reconnect.backoff.max.ms",
    "sasl.mechanisms", "sasl.password", "sasl.username", "security.protocol", "session.timeout.ms",
    "socket.timeout.ms",
    "ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.key.password",
    "ssl.keystore.location",
    "ssl.keystore.password", "statistics.interval.ms", "topic.metadata.refresh.interval.ms",
    "transaction.timeout.ms",
    "transactional.id",
  ]

  /// For builds and tests; and what Kubernetes sets in pods beside a Service named feedstore.
  static let reservedNames = [
    "TEST_", "COMMIT", "CRASH_AT", "SEED", "DATA", "UPDATE_GOLDEN", "UPGRADE_FROM", "WRITE_CONFORMANCE",
    "FUZZ_", "SOAK_", "BENCHMARK_", "SERVICE_HOST", "SERVICE_PORT", "PORT",
  ]
}
