import Service

/// How fast a restoration goes, and when to say so: at most once a second. Time is handed in.
struct RestoreProgress {
  private(set) var records = 0
  /// Bytes of their keys and values.
  private(set) var bytes = 0
  private let start: Int64
  private var lastLine: Int64
  private var lastRecords = 0

  /// What to say.
  enum Line: Equatable {
    case isReading
    /// Nothing has come since the last line: an open transaction keeps back what follows, or the brokers are
    /// slow.
    case isWaiting
  }

  static let intervalMilliseconds: Int64 = 1_000

  /// - Parameter now: the time in milliseconds, of the same clock as later.
  init(now: Int64) {
    start = now
    lastLine = now
  }

  mutating func add(records: Int, bytes: Int) {
    self.records += records
    self.bytes += bytes
  }

  /// What is due to be said, if anything.
  mutating func line(at now: Int64) -> Line? {
    guard now - lastLine >= Self.intervalMilliseconds else { return nil }
    defer {
      lastLine = now
      lastRecords = records
    }
    return records == lastRecords ? .isWaiting : .isReading
  }

  func milliseconds(at now: Int64) -> Int64 { max(0, now - start) }

  /// The mean rate since the start.
  func bytesPerSecond(at now: Int64) -> Int { bytes * 1_000 / Int(max(1, milliseconds(at: now))) }
}
