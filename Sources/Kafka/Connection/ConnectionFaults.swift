import Synchronization

/// Knows why brokers cannot be connected to, for all clients that have it in their configuration.
///
/// librdkafka tries again for ever, whatever the reason, and says so each time. Here a reason that lasts until somebody
/// changes something gives the same line for all brokers, with the remedy, so that a log can count it; and until the cluster has answered for the first time, it ends
/// the questions for metadata once it has lasted for a while.
public final class ConnectionFaults: Sendable, Hashable {
  /// The facility of our own lines about connections, among librdkafka's.
  public static let facility = "CONNECT"

  private let patienceMilliseconds: Int64
  private let now: @Sendable () -> Int64
  private let state = Mutex(State())

  private struct State {
    var table = ConnectionFaultTable()
    var hasConnected = false
  }

  /// - Parameter patienceMilliseconds: how long such a reason may last at the start; nil for ever.
  public convenience init(patienceMilliseconds: Int64? = nil) {
    let start = ContinuousClock.now
    self.init(patienceMilliseconds: patienceMilliseconds) {
      let (seconds, attoseconds) = start.duration(to: .now).components
      return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    }
  }

  init(patienceMilliseconds: Int64?, now: @escaping @Sendable () -> Int64) {
    self.patienceMilliseconds = patienceMilliseconds ?? .max
    self.now = now
  }

  /// All are alike: configurations that differ only in who hears of faults configure the same.
  public static func == (_: ConnectionFaults, _: ConnectionFaults) -> Bool { true }
  public func hash(into hasher: inout Hasher) {}

  /// The cluster has answered: from now on no reason ends anything.
  func connected() {
    state.withLock {
      $0.hasConnected = true
      $0.table.forgetAll()
    }
  }

  /// OpenSSL finds something wrong with a broker's certificate.
  func note(certificateError number: Int32, of broker: String) {
    state.withLock { $0.table[certificateOf: broker] = ConnectionFault.CertificateNote(number: number) }
  }

  /// What becomes of a line of librdkafka's log.
  enum Line: Equatable {
    /// It is told as it is.
    case other
    /// This is told instead; nil for nothing.
    case fault(String?)
  }

  /// Reads a line of librdkafka's log.
  ///
  /// - Parameter hasCertificate: whether the client has a certificate of its own.
  func read(_ facility: String, _ text: String, hasCertificate: Bool) -> Line {
    guard facility == "FAIL" || facility == "SSLCERTVRFY", let (broker, rest) = Self.split(text) else {
      return .other
    }
    // The client is being closed.
    if rest.contains("Local: Broker handle destroyed") { return .fault(nil) }
    return state.withLock { state in
      if facility == "SSLCERTVRFY" {
        if let names = Self.names(in: rest) { state.table[certificateOf: broker]?.names = names }
        return .fault(nil)
      }
      let note = state.table[certificateOf: broker]
      let fault = ConnectionFault(rest, broker: broker, note: note, hasCertificate: hasCertificate)
      guard let fault, !(fault.isGuess && state.hasConnected) else {
        state.table.forget(broker)
        return .other
      }
      return .fault(state.table.fail(fault, at: now()))
    }
  }

  /// Whether an error that librdkafka reports outside of any call is of a connection whose fault is known.
  func isKnown(_ text: String, hasCertificate: Bool) -> Bool {
    guard let (broker, rest) = Self.split(text),
      let fault = ConnectionFault(rest, broker: broker, note: nil, hasCertificate: hasCertificate)
    else { return false }
    return !fault.isGuess || !state.withLock(\.hasConnected)
  }

  /// Why brokers cannot be connected to, and the remedy; nil if nothing is wrong that lasts.
  public var reason: String? { state.withLock { $0.table.oldest(at: now())?.fault.message } }

  /// Whether brokers cannot be connected to for a reason that lasts.
  var isFaulty: Bool { state.withLock { $0.table.oldest(at: now()) != nil } }

  /// The error of a call that failed as no broker could be asked, with the reason if it is known.
  ///
  /// It is not retriable once the reason has lasted for too long at the start.
  func explain(_ error: KafkaError, _ action: @autoclosure () -> String) -> KafkaError {
    guard error.isRetriable, !error.isFatal else { return error }
    let now = now()
    let found = state.withLock { state in state.table.oldest(at: now).map { ($0, state.hasConnected) } }
    guard let ((fault, since), hasConnected) = found else { return error }
    let isLasting = !hasConnected && now - since >= patienceMilliseconds
    let duration = isLasting ? " (tried for \(patienceMilliseconds) ms, as startup.timeout says)" : ""
    return KafkaError(
      kind: fault.kind,
      message: "could not \(action()): \(fault.message)\(duration)",
      isRetriable: !isLasting,
      isFatal: false,
      requiresAbort: false
    )
  }

  /// Takes the broker out of `[thrd:…]: ssl://HOST:PORT/ID: …`, `ssl://HOST:PORT/ID: …` and `GroupCoordinator: HOST:PORT: …`.
  private static func split(_ text: String) -> (broker: String, rest: String)? {
    var text = KafkaLogText.parts(of: text).message[...]
    guard var end = text.firstRange(of: ": ") else { return nil }
    if !text[..<end.lowerBound].contains(":"), let next = text[end.upperBound...].firstRange(of: ": "),
      text[end.upperBound..<next.lowerBound].contains(":")
    {
      text = text[end.upperBound...]
      end = next
    }
    var name = text[..<end.lowerBound]
    if let scheme = name.firstRange(of: "://") { name = name[scheme.upperBound...] }
    if let slash = name.lastIndex(of: "/") { name = name[..<slash] }
    return (String(name), String(text[end.upperBound...]))
  }

  /// Takes ` (subject=…, issuer=…)` out of what is said of a certificate.
  private static func names(in text: String) -> String? {
    guard let start = text.firstRange(of: "Certificate ("), let end = text.firstRange(of: ") verification")
    else {
      return nil
    }
    return " (" + text[start.upperBound..<end.lowerBound] + ")"
  }
}
