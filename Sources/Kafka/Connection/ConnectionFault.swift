/// Why a client cannot connect to a broker, until an operator fixes it.
///
/// A broker that is down is not such a fault, because it may come back.
struct ConnectionFault: Hashable, Sendable {
  /// The cause; texts are those of the broker or of OpenSSL.
  enum Cause: Hashable, Sendable {
    /// The broker's certificate has expired, or is not valid yet.
    case outdatedCertificate(String)
    /// The broker's certificate is not signed by a trusted authority.
    case unknownAuthority(String)
    /// The broker's certificate is for other host names.
    case otherHost(String)
    /// The broker's certificate is invalid for another reason, with OpenSSL's error number.
    case certificate(Int32?, String)
    /// The broker requires a client certificate, and none is configured.
    case clientCertificateMissing(String)
    /// The broker rejects the client's certificate.
    case clientCertificateRefused(String)
    /// The client speaks TLS, and the broker does not.
    case notTLS
    /// The broker speaks TLS, and the client does not.
    case onlyTLS
    /// The broker requires authentication, and none is configured.
    case onlySASL
    /// The broker does not support authentication on this listener.
    case notSASL
    /// The broker does not support the configured mechanism.
    case mechanism(String)
    /// The broker does not know the user, or the password is wrong.
    case credentials(String)
    /// Authentication failed for another reason.
    case authentication(String)
    /// TLS failed for another reason.
    case tls(String)
  }

  let cause: Cause
  /// Host and port, as the client knows them.
  let broker: String

  /// Whether a broker that is starting or stopping can cause the same error. Such a fault counts only until the cluster
  /// has answered for the first time.
  var isGuess: Bool {
    switch cause {
    case .notTLS, .onlyTLS, .onlySASL: true
    case .clientCertificateMissing(let text), .clientCertificateRefused(let text): !text.contains("alert")
    default: false
    }
  }

  /// One sentence with the fault and the remedy.
  var message: String { "cannot connect to \(broker): \(reason); \(remedy)" }

  /// The error code of calls that fail because of it.
  var kind: KafkaErrorCode {
    switch cause {
    case .outdatedCertificate, .unknownAuthority, .otherHost, .certificate, .clientCertificateMissing,
      .clientCertificateRefused, .notTLS, .onlyTLS, .tls:
      .tls
    case .onlySASL, .notSASL, .mechanism, .credentials, .authentication: .authentication
    }
  }

  private var reason: String {
    switch cause {
    case .outdatedCertificate(let names): "the broker's certificate\(names) has expired, or is not valid yet"
    case .unknownAuthority(let names):
      "the broker's certificate\(names) is not signed by an authority that is trusted here"
    case .otherHost(let names): "the broker's certificate\(names) is not for this host name"
    case .certificate(let number, let names):
      "the broker's certificate\(names) is not valid" + (number.map { " (OpenSSL's error \($0))" } ?? "")
    case .clientCertificateMissing(let text):
      "the broker wants a client certificate, and there is none (\(text))"
    case .clientCertificateRefused(let text): "the broker does not accept the client's certificate (\(text))"
    case .notTLS: "the broker ended the TLS handshake at once, as it does on a port without TLS"
    case .onlyTLS: "the broker closed the connection at the first request, as it does on a port for TLS"
    case .onlySASL: "the broker closed the connection at the first request, as it does on a port for SASL"
    case .notSASL: "the client wants to authenticate, and the broker does not support that on this port"
    case .mechanism(let known): "the broker does not support the SASL mechanism; it supports \(known)"
    case .credentials(let text): "the broker refuses the user name or the password (\(text))"
    case .authentication(let text): "authentication failed (\(text))"
    case .tls(let text): "TLS failed (\(text))"
    }
  }

  private var remedy: String {
    switch cause {
    case .outdatedCertificate: "renew the broker's certificate, and check this machine's clock"
    case .unknownAuthority:
      "put the certificate of the authority that signed it into the file that ssl.ca.location names"
    case .otherHost:
      "use the names of the certificate in bootstrap.servers and in the brokers' advertised.listeners, "
        + "or add this name to the certificate"
    case .certificate: "see what 'openssl s_client -connect \(broker)' says of it"
    case .clientCertificateMissing: "set ssl.certificate.location and ssl.key.location"
    case .clientCertificateRefused:
      "set ssl.certificate.location and ssl.key.location to a certificate that is valid and signed by an authority "
        + "in the brokers' ssl.truststore.location"
    case .notTLS:
      "set security.protocol to plaintext or sasl_plaintext, or use a port of the brokers that has TLS"
    case .onlyTLS: "set security.protocol to ssl or sasl_ssl, or use a port of the brokers without TLS"
    case .onlySASL:
      "set security.protocol to sasl_plaintext or sasl_ssl, and sasl.mechanism, sasl.username and sasl.password"
    case .notSASL: "set security.protocol to plaintext or ssl, or use a port of the brokers that has SASL"
    case .mechanism: "set sasl.mechanism to one of these"
    case .credentials: "check sasl.username and sasl.password"
    case .authentication: "check sasl.mechanism, sasl.username and sasl.password"
    case .tls: "check security.protocol and the ssl.* properties, and the broker's log"
    }
  }
}
