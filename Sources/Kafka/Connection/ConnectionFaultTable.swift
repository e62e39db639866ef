/// Which brokers cannot be connected to, since when, and what has been told of it. Time is a value, in milliseconds.
struct ConnectionFaultTable: Sendable {
  private struct Entry {
    let fault: ConnectionFault
    let since: Int64
    /// When it happened last. Nobody says that a connection has come about.
    var last: Int64
  }

  private struct Told {
    var time: Int64
    var count = 0
  }

  private var entries: [String: Entry] = [:]
  private var told: [ConnectionFault.Cause: Told] = [:]
  private var notes: [String: ConnectionFault.CertificateNote] = [:]

  /// How often a fault that goes on is told again.
  static let repetitionMilliseconds: Int64 = 60_000
  /// When a fault counts as over that does not happen any more. librdkafka tries again more often.
  static let silenceMilliseconds: Int64 = 120_000
  /// A cluster has not so many brokers, nor a client so many faults.
  private static let most = 1_000

  /// What was said of a broker's certificate.
  subscript(certificateOf broker: String) -> ConnectionFault.CertificateNote? {
    get { notes[broker] }
    set { if notes.count < Self.most || notes[broker] != nil || newValue == nil { notes[broker] = newValue } }
  }

  /// A connection failed.
  ///
  /// - Returns: the message, if it is to be told; a cause is told once for all brokers, and then each minute.
  mutating func fail(_ fault: ConnectionFault, at now: Int64) -> String? {
    if entries[fault.broker]?.fault.cause == fault.cause {
      entries[fault.broker]?.last = now
    } else if entries.count < Self.most {
      entries[fault.broker] = Entry(fault: fault, since: now, last: now)
    }
    guard var known = told[fault.cause] else {
      if told.count >= Self.most { told.removeAll() }
      told[fault.cause] = Told(time: now)
      return fault.message
    }
    known.count += 1
    let elapsed = now - known.time
    guard elapsed >= Self.repetitionMilliseconds else {
      told[fault.cause] = known
      return nil
    }
    told[fault.cause] = Told(time: now)
    return "\(fault.message) (\(known.count) times in \(elapsed / 1_000) s)"
  }

  /// A connection failed in a way that may pass by itself.
  mutating func forget(_ broker: String) { entries[broker] = nil }

  /// The cluster has answered.
  mutating func forgetAll() {
    entries = [:]
    notes = [:]
  }

  /// What has gone on for longest; nil if nothing is wrong that lasts.
  func oldest(at now: Int64) -> (fault: ConnectionFault, since: Int64)? {
    entries.values.lazy.filter { now - $0.last < Self.silenceMilliseconds }
      .min { $0.since < $1.since }.map { ($0.fault, $0.since) }
  }
}
