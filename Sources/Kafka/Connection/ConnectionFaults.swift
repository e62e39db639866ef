import Synchronization

/// The reasons why clients cannot connect to brokers, shared by all clients with this object.
///
/// librdkafka retries for ever and logs each attempt, whatever the reason. For a fault that an operator must fix, this
/// object produces one message for all brokers, with the remedy, so that the log can count repetitions. Until the
/// cluster has answered for the first time, it also ends metadata requests once the fault has lasted for a while.
public final class ConnectionFaults: Sendable, Hashable {
  /// The facility of our own log lines about connections.
  public static let facility = "CONNECT"

  private let patienceMilliseconds: Int64
  private let now: @Sendable () -> Int64
  private let state = Mutex(State())

  /// The unreachable brokers, with the time since when. Times are in milliseconds.
  private struct State {
    /// Whether the cluster has answered.
    var hasConnected = false
    /// The last failed connection until then that may be temporary, such as one that was refused.
    var passing: String?
    struct Entry {
      let fault: ConnectionFault
      let since: Int64
      /// The time of the last failure. librdkafka does not report successful connections.
      var last: Int64
    }

    var entries: [String: Entry] = [:]
    /// The broker to report for each cause. If several brokers share a cause, their messages are the same.
    private var named: [ConnectionFault.Cause: Entry] = [:]
    /// The reports about the brokers' certificates.
    var notes: [String: ConnectionFault.CertificateNote] = [:]

    /// Without another failure for this long, a fault counts as fixed. librdkafka retries more often than that.
    static let silenceMilliseconds: Int64 = 120_000
    /// More than clusters have brokers, or clients faults.
    static let most = 1_000

    /// Records a failed connection.
    ///
    /// - Returns: the message, the same for all brokers with this cause.
    mutating func fail(_ fault: ConnectionFault, at now: Int64) -> String {
      if entries[fault.broker]?.fault.cause == fault.cause {
        entries[fault.broker]?.last = now
      } else if entries.count < Self.most {
        entries[fault.broker] = Entry(fault: fault, since: now, last: now)
      }
      if var entry = named[fault.cause], now - entry.last < Self.silenceMilliseconds {
        if entry.fault.broker == fault.broker {
          entry.last = now
          named[fault.cause] = entry
        }
        return entry.fault.message
      }
      if named.count >= Self.most { named.removeAll() }
      named[fault.cause] = Entry(fault: fault, since: now, last: now)
      return fault.message
    }

    /// The longest-lasting fault; nil if there is none.
    func oldest(at now: Int64) -> Entry? {
      entries.values.lazy.filter { now - $0.last < Self.silenceMilliseconds }.min { $0.since < $1.since }
    }
  }

  /// - Parameter patienceMilliseconds: the maximum duration of such a fault at the start; nil for no limit.
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

  /// All instances are equal: configurations that differ only here configure the same client.
  public static func == (_: ConnectionFaults, _: ConnectionFaults) -> Bool { true }
  public func hash(into hasher: inout Hasher) {}

  /// Records that the cluster has answered; from now on, faults no longer end requests.
  func connected() {
    state.withLock {
      $0.hasConnected = true
      $0.passing = nil
      $0.entries = [:]
      $0.notes = [:]
    }
  }

  /// Records OpenSSL's error about a broker's certificate.
  func note(certificateError number: Int32, of broker: String) {
    state.withLock {
      // Another client may be about to report the same error with the names.
      guard $0.notes[broker]?.number != number, $0.notes.count < State.most || $0.notes[broker] != nil else {
        return
      }
      $0.notes[broker] = ConnectionFault.CertificateNote(number: number)
    }
  }

  /// Records why there is no token for connections; nil if there is one.
  func note(tokenFailure reason: String?) {
    state.withLock { state in
      let since = state.entries[""]?.since ?? now()
      let cause = reason.map { ConnectionFault.Cause.token("there is no token (\($0))") }
      state.entries[""] = cause.map {
        .init(fault: .init(cause: $0, broker: "the brokers"), since: since, last: now())
      }
    }
  }

  /// How to handle one of librdkafka's log lines.
  enum Line: Equatable {
    /// Log it unchanged.
    case other
    /// Log this text instead; nil to drop the line.
    case fault(String?)
  }

  /// Interprets one of librdkafka's log lines.
  ///
  /// - Parameter hasCertificate: whether the client has a certificate.
  func read(_ facility: String, _ text: String, hasCertificate: Bool) -> Line {
    if facility == "OIDC", let start = text.firstRange(of: "Failed to ") {
      let reason = "there is no token (\(text[start.lowerBound...]))"
      let fault = ConnectionFault(cause: .token(reason), broker: "the brokers")
      return .fault(state.withLock { $0.fail(fault, at: now()) })
    }
    guard facility == "FAIL" || facility == "SSLCERTVRFY", let line = BrokerLine(text) else { return .other }
    // The client is being closed.
    if line.message.contains("Local: Broker handle destroyed") { return .fault(nil) }
    return state.withLock { state in
      if facility == "SSLCERTVRFY" {
        if let names = Self.names(in: line.message) { state.notes[line.broker]?.names = names }
        return .fault(nil)
      }
      let note = state.notes[line.broker]
      let fault = ConnectionFault(line, note: note, hasCertificate: hasCertificate)
      guard let fault, !(fault.isGuess && state.hasConnected) else {
        state.entries[line.broker] = nil
        let sentence = ConnectionFault.withoutTiming(line.message)
        if !state.hasConnected { state.passing = "\(line.broker): \(sentence)" }
        return .other
      }
      return .fault(state.fail(fault, at: now()))
    }
  }

  /// Whether an error reported outside of any call belongs to a known connection fault.
  func isKnown(_ text: String, hasCertificate: Bool) -> Bool {
    guard let line = BrokerLine(text),
      let fault = ConnectionFault(line, note: nil, hasCertificate: hasCertificate)
    else { return false }
    return !fault.isGuess || !state.withLock(\.hasConnected)
  }

  /// The reason why clients cannot connect, with the remedy; nil if there is no lasting fault.
  public var reason: String? { state.withLock { $0.oldest(at: now())?.fault.message } }

  /// Whether there is a lasting fault.
  var isFaulty: Bool { state.withLock { $0.oldest(at: now()) != nil } }

  /// The error of a call that no broker answered, with the reason if known.
  ///
  /// It is not retriable if the fault has lasted too long at the start.
  func explain(_ error: KafkaError, _ action: @autoclosure () -> String) -> KafkaError {
    guard error.isRetriable, !error.isFatal else { return error }
    let now = now()
    let (oldest, hasConnected, passing) = state.withLock { ($0.oldest(at: now), $0.hasConnected, $0.passing) }
    guard let oldest else { return passing.map { .make(error.kind, action(), detail: $0) } ?? error }
    let isLasting = !hasConnected && now - oldest.since >= patienceMilliseconds
    let duration = isLasting ? " (tried for \(patienceMilliseconds) ms, as startup.timeout says)" : ""
    return KafkaError(
      kind: oldest.fault.kind,
      message: "could not \(action()): \(oldest.fault.message)\(duration)",
      isRetriable: !isLasting,
      isFatal: false,
      requiresAbort: false
    )
  }

  /// Extracts ` (subject=…, issuer=…)` from a message about a certificate.
  private static func names(in text: String) -> String? {
    guard let start = text.firstRange(of: "Certificate ("), let end = text.firstRange(of: ") verification")
    else {
      return nil
    }
    return " (" + text[start.upperBound..<end.lowerBound] + ")"
  }
}
