/// Why a client cannot connect to a broker, until an operator fixes it.
///
/// A broker that is down is not such a fault, because it may come back.
struct ConnectionFault: Hashable, Sendable {
  /// The cause; the texts are the broker's or OpenSSL's.
  enum Cause: Hashable, Sendable {
    case outdatedCertificate(String)
    case unknownAuthority(String)
    case otherHost(String)
    /// The broker's certificate is invalid for another reason, with OpenSSL's error number.
    case certificate(Int32?, String)
    case clientCertificateMissing(String)
    case clientCertificateRefused(String)
    /// The broker's protocol on this port, which the client does not use, or the reverse.
    case notTLS, onlyTLS, onlySASL, notSASL
    /// The broker does not support the configured mechanism.
    case mechanism(String)
    /// The broker does not know the user, or the password is wrong.
    case credentials(String)
    /// There is no token for SASL OAUTHBEARER, or the broker does not accept it.
    case token(String)
    /// Authentication failed for another reason.
    case authentication(String)
    case tls(String)
  }

  let cause: Cause
  /// Host and port of the broker in the client's configuration or metadata.
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
    case .onlySASL, .notSASL, .mechanism, .credentials, .token, .authentication: .authentication
    default: .tls
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
      "the broker requires a client certificate, and none is configured (\(text))"
    case .clientCertificateRefused(let text): "the broker does not accept the client's certificate (\(text))"
    case .notTLS: "the broker ended the TLS handshake at once, as it does on a port without TLS"
    case .onlyTLS: "the broker closed the connection at the first request, as it does on a port for TLS"
    case .onlySASL: "the broker closed the connection at the first request, as it does on a port for SASL"
    case .notSASL: "the client wants to authenticate, and the broker does not support that on this port"
    case .mechanism(let known): "the broker does not support the SASL mechanism; it supports \(known)"
    case .credentials(let text): "the broker refuses the user name or the password (\(text))"
    case .token(let text): text
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
    case .certificate: "inspect it with 'openssl s_client -connect \(broker)'"
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
    case .token: "check the token's source; it must be for these brokers, and not have ended"
    case .authentication: "check sasl.mechanism, sasl.username and sasl.password"
    case .tls: "check security.protocol and the ssl.* properties, and the broker's log"
    }
  }
}

extension ConnectionFault {
  /// OpenSSL's and librdkafka's reports about a broker's certificate before the connection failed.
  struct CertificateNote: Hashable, Sendable {
    /// OpenSSL's error number (`X509_V_ERR_…`).
    var number: Int32?
    /// ` (subject=…, issuer=…)`; empty if it was not reported.
    var names = ""
  }

  /// Parses librdkafka's message about a failed connection.
  ///
  /// - Parameters:
  ///   - note: the reports about the broker's certificate.
  ///   - hasCertificate: whether the client has a certificate.
  /// - Returns: nil if the error may be temporary.
  init?(_ line: BrokerLine, note: CertificateNote?, hasCertificate: Bool) {
    let isHandshake = line.message.contains("in state SSL_HANDSHAKE")
    let sentence = Self.withoutTiming(line.message)
    guard
      let cause = Self.cutOffCause(line)
        ?? Self.cause(sentence, note ?? CertificateNote(), hasCertificate, isHandshake)
    else { return nil }
    self.init(cause: cause, broker: line.broker)
  }

  /// The cause if the broker has closed the connection at the first request. librdkafka detects the cause only while it reads,
  /// not while it sends the next request, or if that request was in flight.
  private static func cutOffCause(_ line: BrokerLine) -> Cause? {
    let (text, scheme) = (line.message, line.scheme)
    guard ["Send failed: ", "Receive failed: "].contains(where: text.hasPrefix),
      text.contains("Broken pipe") || text.contains("Connection reset by peer"),
      let timing = text.components(after: " (after "), let duration = Int(timing.prefix { $0.isNumber }),
      duration < longestFirstRequestMilliseconds
    else { return nil }
    if timing.contains("in state UP"), !scheme.hasPrefix("sasl") { return .onlySASL }
    if timing.contains("in state APIVERSION_QUERY"), !scheme.hasSuffix("ssl") { return .onlyTLS }
    return nil
  }

  /// As in librdkafka (`rd_kafka_broker_set_error`).
  private static let longestFirstRequestMilliseconds = 2_000

  private static func cause(
    _ text: String,
    _ note: CertificateNote,
    _ hasCertificate: Bool,
    _ isHandshake: Bool
  ) -> Cause? {
    if text.contains("certificate verify failed") { return certificateCause(note) }
    if text.contains("connecting to a SSL listener?") { return .onlyTLS }
    if text.contains("broker might require SASL authentication") { return .onlySASL }
    if let authentication = authenticationCause(text) { return authentication }
    // This also matches a plain text response to a TLS ClientHello.
    if text.contains("connecting to a PLAINTEXT broker listener?") || text.contains("wrong version number") {
      return .notTLS
    }
    guard text.contains("SSL") else { return nil }
    let detail = openSSLReason(text)
    if isHandshake, detail.contains("unexpected eof") { return .notTLS }
    // In TLS 1.3, the client completes the handshake before the broker verifies, or misses, its certificate.
    if detail.contains("alert") || detail.contains("unexpected eof") {
      if detail.contains("protocol version") || detail.contains("handshake failure") { return .tls(detail) }
      return hasCertificate ? .clientCertificateRefused(detail) : .clientCertificateMissing(detail)
    }
    return .tls(detail)
  }

  /// The numbers are OpenSSL's `X509_V_ERR_…` constants, which do not change.
  private static func certificateCause(_ note: CertificateNote) -> Cause {
    switch note.number {
    case 9, 10: .outdatedCertificate(note.names)
    case 2, 18, 19, 20, 21: .unknownAuthority(note.names)
    case 62, 63, 64: .otherHost(note.names)
    default: .certificate(note.number, note.names)
    }
  }

  private static func authenticationCause(_ text: String) -> Cause? {
    // The connection was lost, or the client was closed, before the broker answered.
    if text.contains("failed: Local: ") { return nil }
    if text.contains("mechanism handshake failed") {
      let known = text.components(after: "broker's supported mechanisms: ") ?? ""
      return known.isEmpty || text.contains("not valid in current SASL state") ? .notSASL : .mechanism(known)
    }
    if let detail = text.components(after: "SASL authentication error: ") {
      // The answer to a token is JSON (RFC 7628).
      return detail.hasPrefix("{") ? .token("the broker refuses the token (\(detail))") : .credentials(detail)
    }
    return text.contains("SASL") ? .authentication(text) : nil
  }

  /// The last part of `error:0A00045C:SSL routines::tlsv13 alert certificate required`.
  private static func openSSLReason(_ text: String) -> String {
    text.components(after: "routines::") ?? text
  }

  /// Removes the elapsed time, which differs in each of librdkafka's messages.
  static func withoutTiming(_ text: String) -> String {
    guard let range = text.ranges(of: " (after ").last else { return text }
    return String(text[..<range.lowerBound])
  }
}

extension String {
  fileprivate func components(after mark: String) -> String? {
    guard let range = ranges(of: mark).last else { return nil }
    return String(self[range.upperBound...])
  }
}

/// One of librdkafka's messages about a broker.
struct BrokerLine {
  /// `ssl`, `sasl_plaintext` or `sasl_ssl`; empty for a client with neither, and for a coordinator.
  var scheme = ""
  /// Host and port.
  var broker: String
  /// The text about the broker.
  var message: String
}

extension BrokerLine {
  /// Parses `[thrd:…]: ssl://HOST:PORT/ID: …`, `ssl://HOST:PORT/ID: …` and `GroupCoordinator: HOST:PORT: …`.
  ///
  /// - Returns: nil if the text does not name a broker.
  init?(_ text: String) {
    var text = KafkaLogText.parts(of: text).message[...]
    guard var end = text.firstRange(of: ": ") else { return nil }
    if !text[..<end.lowerBound].contains(":"), let next = text[end.upperBound...].firstRange(of: ": "),
      text[end.upperBound..<next.lowerBound].contains(":")
    {
      text = text[end.upperBound...]
      end = next
    }
    var name = text[..<end.lowerBound]
    if let mark = name.firstRange(of: "://") {
      scheme = String(name[..<mark.lowerBound])
      name = name[mark.upperBound...]
    }
    if let slash = name.lastIndex(of: "/") { name = name[..<slash] }
    broker = String(name)
    message = String(text[end.upperBound...])
  }
}
