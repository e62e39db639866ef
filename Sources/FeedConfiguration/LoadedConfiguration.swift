public import Service

/// A configuration together with where each value comes from.
public struct LoadedConfiguration: Sendable, Equatable {
  public let configuration: FeedStoreConfiguration
  /// The readings of all keys, including properties under `kafka.`.
  public let readings: [ConfigurationReading]
  /// Environment variables that have FeedStore's prefix but set no key.
  public let unknownVariables: [ConfigurationVariables.Unknown]
}
