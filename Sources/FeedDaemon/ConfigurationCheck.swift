public import FeedConfiguration
import FeedHTTP
import FeedKafka
public import FeedTools
import Kafka
public import Service

/// `feedstore config`: whether a daemon could begin with a configuration.
public struct ConfigurationCheck: Sendable {
  public var configuration: FeedStoreConfiguration
  public var log: Log
  /// A shorter timeout for each request to the brokers; for tests.
  package var timeoutMilliseconds: Int32 = .max

  public init(_ configuration: FeedStoreConfiguration, log: Log) {
    self.configuration = configuration
    self.log = log
  }

  /// Checks what `feedstore run` checks without the brokers.
  ///
  /// - Throws: ``ConfigurationError``; ``DaemonError`` if the process's limits are too low for it.
  public func checkSettings() throws {
    // Without an address of brokers, the daemon could start one of its own.
    let hasServers = KafkaSettings.namesServers(configuration.kafka)
    try KafkaSettings(configuration, embedded: hasServers ? nil : []).checkProperties()
    guard configuration.http.isEnabled else { return }
    let token = try configuration.http.bearerToken()
    let tls = try configuration.http.tlsCredentials()
    do {
      try HTTPServer.check(HTTPServerConfiguration(configuration.http, token: token, tls: tls))
    } catch {
      throw error.configurationOrDaemonError
    }
  }

  /// Checks the topics.
  ///
  /// - Throws: ``ConfigurationError``; ``DaemonError`` if the brokers cannot be reached.
  public func checkTopics() async throws -> TopicReport {
    var setup = TopicSetup(configuration, log: log)
    setup.waits = true
    setup.timeoutMilliseconds = timeoutMilliseconds
    return try await setup.run()
  }
}
