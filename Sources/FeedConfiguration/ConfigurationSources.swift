package import Settings

/// The sources of a configuration. Later ones override earlier ones: defaults, a command's own settings, the file,
/// environment variables, `--set`.
package struct ConfigurationSources: Sendable {
  /// A JSON5 file; nil for none.
  package var file: String?
  /// The process's environment. Variables that begin with `FEEDSTORE_` set keys; references in values may name any
  /// variable.
  package var environment: [String: String]
  /// `KEY=VALUE`, as given with `--set`.
  package var assignments: [String]
  /// A command's own settings, which every other source except the defaults overrides.
  package var command: (name: String, settings: [ConfigurationPair])?

  package init(file: String? = nil, environment: [String: String] = [:], assignments: [String] = []) {
    self.file = file
    self.environment = environment
    self.assignments = assignments
  }

  /// Reads and checks all sources.
  ///
  /// - Parameter checksKeyFiles: false for a command that reports key files itself.
  /// - Throws: ``ConfigurationError`` for the first mistake; with the key, the place, the allowed values, and the value
  ///   unless that is a secret.
  package func load(checksKeyFiles: Bool = true) throws(ConfigurationError) -> LoadedConfiguration {
    var document = ConfigurationDocument()
    if let file { document = try ConfigurationDocument(file: file) }
    for pair in command?.settings ?? [] where document.entries[pair.name] == nil {
      document.set(pair.name, toText: pair.value, from: .command(command?.name ?? ""))
    }
    let unknown = ConfigurationVariables.apply(environment, to: &document)
    for assignment in assignments { try document.set(assignment) }
    try document.resolve { environment[$0] }
    let (configuration, readings) = try FeedStoreConfiguration.read(document)
    if checksKeyFiles { try configuration.checkKeyFiles() }
    return LoadedConfiguration(configuration: configuration, readings: readings, unknownVariables: unknown)
  }
}

/// A configuration with the source of each value.
package struct LoadedConfiguration: Sendable, Equatable {
  package let configuration: FeedStoreConfiguration
  /// The readings of all keys, including properties under `kafka.`.
  package let readings: [ConfigurationReading]
  /// Environment variables that have FeedStore's prefix but set no key.
  package let unknownVariables: [ConfigurationVariables.Unknown]
}
