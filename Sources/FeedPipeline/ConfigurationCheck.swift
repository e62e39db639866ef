public import FeedConfiguration
import FeedHTTP
import FeedKafka
public import FeedTools
import Kafka
public import Service

/// `feedstore config --check`: whether a daemon could begin with a configuration.
public struct ConfigurationCheck: Sendable {
  public var configuration: PipelineConfiguration
  public var log: Log
  /// A shorter timeout for each request to the brokers; for tests.
  package var timeoutMilliseconds: Int32 = .max

  public init(_ configuration: PipelineConfiguration, log: Log) {
    self.configuration = configuration
    self.log = log
  }

  /// Checks the settings without the brokers first, then the topics.
  ///
  /// - Throws: ``ConfigurationError``; ``DaemonError`` if the brokers cannot be reached.
  public func run() async throws -> TopicReport {
    let settings = try KafkaSettings(configuration)
    try settings.checkProperties()
    if configuration.http.isEnabled {
      let token = try configuration.http.bearerToken()
      let tls = try configuration.http.tlsCredentials()
      do {
        try HTTPServer.check(HTTPServerConfiguration(configuration.http, token: token, tls: tls))
      } catch {
        throw error.configurationOrDaemonError
      }
    }
    var setup = TopicSetup(configuration, log: log)
    setup.waits = true
    setup.timeoutMilliseconds = timeoutMilliseconds
    return try await setup.run()
  }
}
