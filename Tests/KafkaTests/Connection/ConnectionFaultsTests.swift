import Synchronization
import Testing

@testable import Kafka

@Suite struct ConnectionFaultsTests {
  /// A clock that tests set.
  private final class Clock: Sendable {
    let milliseconds = Mutex<Int64>(0)
    func pass(_ time: Int64) { milliseconds.withLock { $0 += time } }
  }

  private static func refused(_ broker: String) -> String {
    "[thrd:sasl_ssl://\(broker)/bootstrap]: sasl_ssl://\(broker)/bootstrap: SASL authentication error: wrong (after 3ms in state AUTH_REQ)"
  }
  private static let down =
    "[thrd:a:1/1]: a:1/1: Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)"
  private static let message =
    "cannot connect to a:1: the broker refuses the user name or the password (wrong); check sasl.username and sasl.password"
  private static let failure = KafkaError(
    kind: .transport,
    message: "broker transport failure",
    isRetriable: true,
    isFatal: false,
    requiresAbort: false
  )

  private let clock = Clock()
  private let faults: ConnectionFaults

  init() {
    faults = ConnectionFaults(patienceMilliseconds: 30_000) { [clock] in clock.milliseconds.withLock { $0 } }
  }

  private func fail(_ broker: String) -> ConnectionFaults.Line {
    faults.read("FAIL", Self.refused(broker), hasCertificate: false)
  }

  @Test func `a cause has the same message for all brokers`() {
    #expect(fail("a:1") == .fault(Self.message))
    #expect(fail("b:1") == .fault(Self.message))
    clock.pass(60_000)
    #expect(fail("a:1") == .fault(Self.message))
    clock.pass(60_000)
    #expect(fail("b:1") == .fault(Self.message))
  }

  @Test func `a broker that wants a user has the same message whatever the client was just doing`() {
    func read(_ text: String) -> ConnectionFaults.Line {
      faults.read("FAIL", "[thrd:\(text)", hasCertificate: false)
    }
    let disconnected = read(
      "a:1/bootstrap]: a:1/bootstrap: Disconnected: verify that security.protocol is correctly configured, "
        + "broker might require SASL authentication (after 0ms in state UP)"
    )
    #expect(disconnected != .other)
    let text = "b:1/bootstrap: Send failed: Broken pipe (after 0ms in state UP)"
    #expect(read("b:1/bootstrap]: \(text)") == disconnected)
    #expect(read("sasl_ssl://b:1/bootstrap]: sasl_ssl://\(text)") == .other)
    // A broker that goes down does the same, so it only counts before the cluster has answered.
    faults.connected()
    #expect(read("b:1/bootstrap]: \(text)") == .other)
  }

  @Test func `a message for other brokers does not name one that works again`() {
    #expect(fail("a:1") == .fault(Self.message))
    clock.pass(119_999)
    #expect(fail("b:1") == .fault(Self.message))
    clock.pass(1)
    #expect(fail("b:1") == .fault(Self.message.replacing("a:1", with: "b:1")))
  }

  @Test func `other lines are logged unchanged`() {
    #expect(faults.read("FAIL", Self.down, hasCertificate: false) == .other)
    #expect(faults.read("MAXPOLL", Self.refused("a:1"), hasCertificate: false) == .other)
  }

  @Test func `until the cluster has answered, a call names the last connection that failed`() {
    _ = faults.read("FAIL", Self.down, hasCertificate: false)
    clock.pass(1_000_000)
    let error = faults.explain(Self.failure, "read")
    #expect(error.isRetriable)
    let reason = "a:1: Connect to ipv4#127.0.0.1:1 failed: Connection refused"
    let remedy = "check bootstrap.servers, the network, and that the brokers are up"
    #expect(error.message == "could not read: \(reason); \(remedy)")
    faults.connected()
    _ = faults.read("FAIL", Self.down, hasCertificate: false)
    #expect(faults.explain(Self.failure, "read") == Self.failure)
  }

  @Test func `a call fails with the reason, and permanently once the fault has lasted`() {
    #expect(faults.explain(Self.failure, "read") == Self.failure)
    _ = fail("a:1")
    clock.pass(29_999)
    let early = faults.explain(Self.failure, "read")
    #expect(early.isRetriable)
    #expect(early.kind == .authentication)
    #expect(early.message == "could not read: " + Self.message)
    clock.pass(1)
    let late = faults.explain(Self.failure, "read")
    #expect(!late.isRetriable)
    #expect(late.message.hasSuffix("(tried for 30000 ms, as startup.timeout says)"))
  }

  @Test func `a missing token is a fault until there is one, however the reason is worded`() {
    let shown = "cannot connect to the brokers: there is no token (at 12:01); check the token's source"
    faults.note(tokenFailure: "at 12:00")
    clock.pass(30_000)
    faults.note(tokenFailure: "at 12:01")
    #expect(faults.reason?.hasPrefix(shown) == true)
    #expect(!faults.explain(Self.failure, "read").isRetriable)
    faults.note(tokenFailure: nil)
    #expect(faults.reason == nil)
    #expect(faults.explain(Self.failure, "read") == Self.failure)
  }

  @Test func `a token that librdkafka cannot obtain is a fault until the cluster has answered`() {
    let reason = #"Failed to retrieve OIDC token from "http://a/token": {"error":"invalid_client"} (401)"#
    let line = faults.read("OIDC", "[thrd:background]: " + reason, hasCertificate: false)
    let message = "cannot connect to the brokers: there is no token (\(reason)); check the token's source"
    #expect(faults.reason?.hasPrefix(message) == true)
    #expect(line == .fault(faults.reason))
    #expect(faults.explain(Self.failure, "read").kind == .authentication)
    faults.connected()
    #expect(faults.explain(Self.failure, "read") == Self.failure)
  }

  @Test func `a broker that was down meanwhile starts its time again`() {
    _ = fail("a:1")
    clock.pass(20_000)
    _ = faults.read("FAIL", Self.down, hasCertificate: false)
    #expect(faults.explain(Self.failure, "read").kind == .transport)
    _ = fail("a:1")
    clock.pass(20_000)
    #expect(faults.explain(Self.failure, "read").isRetriable)
  }

  @Test func `after the cluster has answered, no fault is permanent`() {
    faults.connected()
    _ = fail("a:1")
    clock.pass(100_000)
    let error = faults.explain(Self.failure, "read")
    #expect(error.isRetriable)
    #expect(error.kind == .authentication)
  }

  @Test func `a fault that a stopping broker also causes counts only before the cluster has answered`() {
    let text =
      "[thrd:x]: ssl://a:1/1: SSL handshake failed: SSL routines::unexpected eof while reading (after 1ms in state SSL_HANDSHAKE)"
    guard case .fault(_?) = faults.read("FAIL", text, hasCertificate: false) else {
      Issue.record("it is a fault at the start")
      return
    }
    faults.connected()
    #expect(faults.read("FAIL", text, hasCertificate: false) == .other)
    #expect(!faults.isFaulty)
  }

  @Test func `a coordinator is named by its address`() {
    let text =
      "[thrd:GroupCoordinator]: GroupCoordinator: a:1: SASL authentication error: wrong (after 3ms in state AUTH_REQ)"
    #expect(faults.read("FAIL", text, hasCertificate: false) == .fault(Self.message))
  }

  @Test func `a fault that does not recur expires`() {
    _ = fail("a:1")
    clock.pass(119_999)
    #expect(faults.isFaulty)
    clock.pass(1)
    #expect(!faults.isFaulty)
    #expect(faults.explain(Self.failure, "read") == Self.failure)
  }

  @Test func `errors unrelated to the connection are unchanged`() {
    _ = fail("a:1")
    clock.pass(100_000)
    let other = KafkaError(
      kind: .topicAuthorizationFailed,
      message: "no",
      isRetriable: false,
      isFatal: false,
      requiresAbort: false
    )
    #expect(faults.explain(other, "read") == other)
  }

  @Test(arguments: [false, true])
  func `the message contains what was reported about a certificate`(anotherClientIsBetween: Bool) {
    faults.note(certificateError: 10, of: "a:1")
    let names = "ssl://a:1/1: Certificate (subject=/CN=broker, issuer=/CN=ca) verification callback failed: "
    #expect(faults.read("SSLCERTVRFY", "[thrd:x]: " + names, hasCertificate: false) == .fault(nil))
    if anotherClientIsBetween { faults.note(certificateError: 10, of: "a:1") }
    let text =
      "[thrd:x]: ssl://a:1/1: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed"
    #expect(
      faults.read("FAIL", text, hasCertificate: false)
        == .fault(
          "cannot connect to a:1: the broker's certificate (subject=/CN=broker, issuer=/CN=ca) has expired, or is not valid yet; "
            + "renew the broker's certificate, and check this machine's clock"
        )
    )
  }

  @Test func `the number of faults is bounded`() {
    for number in 0..<5_000 {
      let text =
        "[thrd:x]: sasl_ssl://h\(number):1/1: SASL authentication error: \(number) (after 3ms in state AUTH_REQ)"
      _ = faults.read("FAIL", text, hasCertificate: false)
      faults.note(certificateError: 10, of: "h\(number):1")
    }
    #expect(faults.isFaulty)
  }
}
