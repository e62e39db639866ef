/// The brokers to which clients cannot connect, and since when. The caller passes the time, in milliseconds.
struct ConnectionFaultTable: Sendable {
  private struct Entry {
    let fault: ConnectionFault
    let since: Int64
    /// The time of the last failure. librdkafka does not report successful connections.
    var last: Int64
  }

  private var entries: [String: Entry] = [:]
  /// The broker to report for each cause. If several brokers share a cause, their messages are the same.
  private var named: [ConnectionFault.Cause: Entry] = [:]
  private var notes: [String: ConnectionFault.CertificateNote] = [:]

  /// Without another failure for this long, a fault counts as fixed. librdkafka retries more often than that.
  static let silenceMilliseconds: Int64 = 120_000
  /// More than any cluster has brokers, or a client faults.
  private static let most = 1_000

  /// What was reported about a broker's certificate.
  subscript(certificateOf broker: String) -> ConnectionFault.CertificateNote? {
    get { notes[broker] }
    set { if notes.count < Self.most || notes[broker] != nil || newValue == nil { notes[broker] = newValue } }
  }

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

  /// Records a failed connection whose cause may be temporary.
  mutating func forget(_ broker: String) { entries[broker] = nil }

  /// Records that the cluster has answered.
  mutating func forgetAll() {
    entries = [:]
    notes = [:]
  }

  /// The longest-lasting fault; nil if there is none.
  func oldest(at now: Int64) -> (fault: ConnectionFault, since: Int64)? {
    entries.values.lazy.filter { now - $0.last < Self.silenceMilliseconds }
      .min { $0.since < $1.since }.map { ($0.fault, $0.since) }
  }
}
