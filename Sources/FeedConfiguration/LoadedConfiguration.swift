public import Service

/// A configuration together with where each value comes from.
public struct LoadedConfiguration: Sendable, Equatable {
  public let configuration: PipelineConfiguration
  /// Every key, and what is set under `kafka.`.
  public let readings: [ConfigurationReading]
  /// Environment variables that begin like FeedStore's and set nothing.
  public let unknownVariables: [ConfigurationVariables.Unknown]
}
