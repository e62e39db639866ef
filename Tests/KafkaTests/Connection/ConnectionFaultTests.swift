import Testing

@testable import Kafka

@Suite struct ConnectionFaultTests {
  private static let broker = "kafka.example:9093"

  private static func cause(
    _ text: String,
    certificateError number: Int32? = nil,
    hasCertificate: Bool = false,
    scheme: String = ""
  ) -> ConnectionFault.Cause? {
    let note = number.map { ConnectionFault.CertificateNote(number: $0) }
    let line = BrokerLine(scheme: scheme, broker: broker, message: text)
    return ConnectionFault(line, note: note, hasCertificate: hasCertificate)?.cause
  }

  private static let refusedCertificate = """
    SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker certificate could not be \
    verified, verify that ssl.ca.location is correctly configured or root CA certificates are installed \
    (install ca-certificates package) (after 1ms in state SSL_HANDSHAKE)
    """

  private static let numbers: [(Int32, ConnectionFault.Cause)] = [
    (10, .outdatedCertificate("")), (20, .unknownAuthority("")), (18, .unknownAuthority("")),
    (62, .otherHost("")), (64, .otherHost("")), (23, .certificate(23, "")),
  ]

  @Test(arguments: numbers)
  func `a rejected certificate is reported by OpenSSL's error number`(
    number: Int32,
    expected: ConnectionFault.Cause
  ) {
    #expect(Self.cause(Self.refusedCertificate, certificateError: number) == expected)
  }

  @Test func `a rejected certificate without details is a fault as well`() {
    #expect(Self.cause(Self.refusedCertificate) == .certificate(nil, ""))
  }

  @Test func `a missing certificate differs from a rejected one`() {
    let text = """
      Receive failed: error:0A00045C:SSL routines::tlsv13 alert certificate required: SSL alert number 116 \
      (after 1ms in state APIVERSION_QUERY)
      """
    let detail = "tlsv13 alert certificate required: SSL alert number 116"
    #expect(Self.cause(text) == .clientCertificateMissing(detail))
    #expect(Self.cause(text, hasCertificate: true) == .clientCertificateRefused(detail))
  }

  @Test func `a protocol mismatch is reported in both directions`() {
    let toTLS = """
      Disconnected while requesting ApiVersion: might be caused by incorrect security.protocol configuration \
      (connecting to a SSL listener?) or broker version is < 0.10 (see api.version.request) \
      (after 1ms in state APIVERSION_QUERY)
      """
    #expect(Self.cause(toTLS) == .onlyTLS)
    let endOfFile = "SSL handshake failed: error:0A000126:SSL routines::unexpected eof while reading"
    #expect(Self.cause(endOfFile + " (after 1ms in state SSL_HANDSHAKE)") == .notTLS)
    #expect(
      Self.cause(
        "SSL handshake failed: Disconnected: connecting to a PLAINTEXT broker listener? (after 1ms in state SSL_HANDSHAKE)"
      ) == .notTLS
    )
    let toSASL = """
      Disconnected: verify that security.protocol is correctly configured, broker might require SASL authentication \
      (after 0ms in state UP)
      """
    #expect(Self.cause(toSASL) == .onlySASL)
  }

  @Test(arguments: ["Send failed: Broken pipe", "Receive failed: Connection reset by peer"])
  func `a connection that is closed during the next request is as one that is closed at the first`(
    text: String
  ) {
    let up = text + " (after 0ms in state UP)"
    #expect(Self.cause(up) == .onlySASL)
    #expect(Self.cause(up, scheme: "ssl") == .onlySASL)
    #expect(Self.cause(up, scheme: "sasl_plaintext") == nil)
    let query = text + " (after 12ms in state APIVERSION_QUERY)"
    #expect(Self.cause(query) == .onlyTLS)
    #expect(Self.cause(query, scheme: "sasl_plaintext") == .onlyTLS)
    #expect(Self.cause(query, scheme: "sasl_ssl") == nil)
    // Not at the first requests.
    #expect(Self.cause(text + " (after 2000ms in state UP)") == nil)
    #expect(Self.cause(text) == nil)
  }

  private static let answers: [(String, ConnectionFault.Cause)] = [
    (
      "SASL authentication error: Authentication failed: Invalid username or password (after 0ms in state AUTH_REQ)",
      .credentials("Authentication failed: Invalid username or password")
    ),
    (
      "SASL authentication error: {\"status\":\"invalid_token\"} (after 5ms in state AUTH_REQ)",
      .token("the broker refuses the token ({\"status\":\"invalid_token\"})")
    ),
    (
      "SASL SCRAM-SHA-256 mechanism handshake failed: Broker: Unsupported SASL mechanism: broker's supported mechanisms: PLAIN,GSSAPI (after 0ms in state AUTH_HANDSHAKE)",
      .mechanism("PLAIN,GSSAPI")
    ),
    (
      "SASL SCRAM-SHA-256 mechanism handshake failed: Broker: Request not valid in current SASL state: broker's supported mechanisms:  (after 0ms in state AUTH_HANDSHAKE)",
      .notSASL
    ),
  ]

  @Test(arguments: answers)
  func `the broker's message about users and mechanisms is kept`(
    text: String,
    expected: ConnectionFault.Cause
  ) {
    #expect(Self.cause(text) == expected)
  }

  @Test(arguments: [
    "Connect to ipv4#127.0.0.1:9093 failed: Connection refused (after 0ms in state CONNECT)",
    "SASL authentication error: SaslAuthenticateRequest failed: Local: Broker transport failure (after 1ms in state AUTH_REQ)",
    "SASL PLAIN mechanism handshake failed: Local: Broker handle destroyed: broker's supported mechanisms: ",
    "Disconnected (after 60000ms in state UP)",
    "Failed to resolve 'kafka.example:9093': Name or service not known (after 5ms in state CONNECT)",
    "1 request(s) timed out: disconnect (after 20000ms in state UP)",
  ])
  func `a transient error is not a fault`(text: String) {
    #expect(Self.cause(text) == nil)
  }

  @Test func `the message has the broker, the cause and the remedy`() {
    let fault = ConnectionFault(cause: .mechanism("PLAIN"), broker: Self.broker)
    #expect(
      fault.message
        == "cannot connect to kafka.example:9093: the broker does not support the SASL mechanism; it supports PLAIN; "
        + "set sasl.mechanism to one of these"
    )
  }
}
