/// Decides when waiting records are published: a state machine that is told the time.
///
/// Every record waits, whatever becomes of it, until the first that waits is as old as the window,
/// or as many records or bytes wait as may (protocol, section 3).
public struct Coalescer: Sendable {
  private let options: CoalescingOptions
  /// Records that wait.
  public private(set) var waitingRecords = 0
  /// Bytes of their keys and values.
  public private(set) var waitingBytes = 0
  /// When what waits will have waited for the window, in milliseconds; nil when nothing waits.
  public private(set) var deadline: Int64?

  public init(_ options: CoalescingOptions) {
    self.options = options
  }

  /// Whether what waits must be published before a record of this time is taken, or, by the clock, now.
  public func isFlushDue(at time: Int64) -> Bool {
    guard let deadline else { return false }
    return options.windowMilliseconds == 0 || time >= deadline
  }

  /// Notes that something waits from this time on, be it a record or not.
  public mutating func begin(at time: Int64) {
    guard deadline == nil else { return }
    let (sum, overflow) = time.addingReportingOverflow(options.windowMilliseconds)
    deadline = overflow ? Int64.max : sum
  }

  /// Notes that a record of this time waits. True when what waits must be published at once.
  public mutating func add(bytes: Int, at time: Int64) -> Bool {
    begin(at: time)
    waitingRecords += 1
    waitingBytes += bytes
    return waitingRecords >= options.maxRecords || waitingBytes >= options.maxBytes
  }

  /// Notes that what waited has been published.
  public mutating func reset() {
    waitingRecords = 0
    waitingBytes = 0
    deadline = nil
  }
}
