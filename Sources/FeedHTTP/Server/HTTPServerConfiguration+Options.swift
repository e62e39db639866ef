package import FeedConfiguration
import FeedKafka
package import Service

extension HTTPServerConfiguration {
  package init(_ options: HTTPOptions, token: BearerToken?, tls: TLSCredentials?) {
    self.init()
    self.token = token
    self.tls = tls
    address = options.address
    port = options.port
    threads = options.threads
    maxConnections = options.maxConnections
    maxConnectionsPerAddress =
      options.maxConnectionsPerAddress > 0
      ? options.maxConnectionsPerAddress : max(1, options.maxConnections / 4 * 3)
    // No route accepts a request body.
    head.contentBytes = 0
    maxStreams = options.maxStreams
    maxStreamQueueBytes = options.maxStreamBytes
    heartbeatMilliseconds = options.heartbeatMilliseconds
    idleTimeoutSeconds = options.idleTimeoutSeconds
  }
}

extension HTTPServerError {
  /// The error as a configuration error, if another start would fail the same way.
  package var configurationOrDaemonError: any Error {
    switch code {
    case .tokenNeeded:
      ConfigurationError(
        "http.address: \(message); the keys are http.tokenFile and http.tls.clientAuthority"
      )
    case .address, .token: ConfigurationError("http.address: \(message)")
    case .certificate: ConfigurationError("http.tls.certificate: \(message)")
    case .key: ConfigurationError("http.tls.key: \(message)")
    case .clientAuthority: ConfigurationError("http.tls.clientAuthority: \(message)")
    case .portInUse, .denied: DaemonError(.http, "http.port: \(message)")
    case .openFiles, .system: DaemonError(.http, "http: \(message)")
    }
  }
}
