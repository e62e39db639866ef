/// Which brokers cannot be connected to, and since when. Time is a value, in milliseconds.
struct ConnectionFaultTable: Sendable {
  private struct Entry {
    let fault: ConnectionFault
    let since: Int64
    /// When it happened last. Nobody says that a connection has come about.
    var last: Int64
  }

  private var entries: [String: Entry] = [:]
  /// The broker that is named for each cause, although others may have it too: all of them say the same then.
  private var named: [ConnectionFault.Cause: Entry] = [:]
  private var notes: [String: ConnectionFault.CertificateNote] = [:]

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
  /// - Returns: the message, which is the same for all brokers with this cause.
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
