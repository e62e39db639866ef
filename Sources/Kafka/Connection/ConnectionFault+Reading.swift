extension ConnectionFault {
  /// What OpenSSL and librdkafka reported about a broker's certificate before the connection failed.
  struct CertificateNote: Hashable, Sendable {
    /// OpenSSL's error number (`X509_V_ERR_…`).
    var number: Int32?
    /// ` (subject=…, issuer=…)`; empty if it was not reported.
    var names = ""
  }

  /// Parses librdkafka's message about a failed connection.
  ///
  /// - Parameters:
  ///   - note: what was reported about the broker's certificate.
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

  /// The cause if the broker has closed the connection at the first request. librdkafka guesses it only if it notices that while
  /// it reads, not while it sends the next request, nor if that one was on its way.
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
    // Also matches a plain text response to a TLS ClientHello.
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
    if let detail = text.components(after: "SASL authentication error: ") { return .credentials(detail) }
    return text.contains("SASL") ? .authentication(text) : nil
  }

  /// The last part of `error:0A00045C:SSL routines::tlsv13 alert certificate required`.
  private static func openSSLReason(_ text: String) -> String {
    text.components(after: "routines::") ?? text
  }

  /// Removes the elapsed time that librdkafka adds, as it differs each time.
  private static func withoutTiming(_ text: String) -> String {
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
