import FeedKafka
package import Service

extension HTTPServerError {
  /// The error as a configuration error, if another start would fail the same way.
  package var configurationOrDaemonError: any Error {
    switch code {
    case .tokenNeeded:
      ConfigurationError(
        .outOfRange,
        "http.address: \(message); the keys are http.tokenFile and http.tls.clientAuthority"
      )
    case .address, .token: ConfigurationError(.outOfRange, "http.address: \(message)")
    case .certificate: ConfigurationError(.outOfRange, "http.tls.certificate: \(message)")
    case .key: ConfigurationError(.outOfRange, "http.tls.key: \(message)")
    case .clientAuthority: ConfigurationError(.outOfRange, "http.tls.clientAuthority: \(message)")
    case .portInUse, .denied: DaemonError(.http, "http.port: \(message)")
    case .openFiles, .system: DaemonError(.http, "http: \(message)")
    }
  }
}
