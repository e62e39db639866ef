/// Decides when waiting records are published: a state machine that is told the time.
///
/// Every record waits, whatever becomes of it, until what waits is due, or as many records or bytes wait as may
/// (protocol, "Coalescing"). What waits is due a window after the publication before it came due, so that a steady
/// stream is published once a window; but the first record waits for the idle window at least, and for the window at
/// most. So a lone update is published after the idle window. While the input is behind, as much as is read in the
/// backlog's window is published at once, as each publication has a price of its own, but no more than is published in the
/// time that is given for it.
public struct Coalescer: Sendable {
  private let options: CoalescingOptions
  /// Records that wait.
  public private(set) var waitingRecords = 0
  /// Bytes of their keys and values.
  public private(set) var waitingBytes = 0
  /// Whether the input is behind, so that the bounds for that count as well.
  public var isBehind = false
  /// The most bytes that may wait while the input is behind.
  private var backlogBytes: Int
  /// When the first record that waits came, and when it would be due if the input were not behind.
  private var first: (time: Int64, dueTime: Int64)?
  /// When what was published last came due; nil before the first publication.
  private var lastDueTime: Int64?

  public init(_ options: CoalescingOptions) {
    self.options = options
    backlogBytes = options.backlogMaxBytes
  }

  /// When what waits is due, in milliseconds; nil when nothing waits.
  public var deadline: Int64? {
    guard let first else { return nil }
    guard hasBacklog else { return first.dueTime }
    return max(first.dueTime, first.time.addingOrGreatest(options.backlogWindowMilliseconds))
  }

  /// Whether anything waits.
  @inline(__always)
  public var isWaiting: Bool { first != nil }

  private var hasBacklog: Bool { isBehind && options.windowMilliseconds > 0 }

  /// Whether what waits must be published before a record of this time is taken, or, by the clock, now.
  public func isFlushDue(at time: Int64) -> Bool {
    guard let deadline else { return false }
    return options.windowMilliseconds == 0 || time >= deadline
  }

  /// Notes that something waits from this time on, be it a record or not.
  public mutating func begin(at time: Int64) {
    guard first == nil else { return }
    let window = options.windowMilliseconds
    let earliest = time.addingOrGreatest(min(options.idleWindowMilliseconds, window))
    let next = lastDueTime?.addingOrGreatest(window) ?? earliest
    first = (time, min(max(earliest, next), time.addingOrGreatest(window)))
  }

  /// Notes that a record of this time waits. True when what waits must be published at once.
  ///
  /// - Parameter copiedBytes: bytes of the waiting records that are kept as they came, which have no more room while the
  ///   input is behind.
  public mutating func add(bytes: Int, copiedBytes: Int = 0, at time: Int64) -> Bool {
    begin(at: time)
    waitingRecords += 1
    waitingBytes += bytes
    guard waitingRecords >= options.maxRecords || waitingBytes >= options.maxBytes else { return false }
    if hasBacklog,
      waitingRecords < max(options.maxRecords, options.backlogMaxRecords),
      waitingBytes < max(options.maxBytes, backlogBytes), copiedBytes < options.maxBytes
    {
      return false
    }
    if let first { self.first = (first.time, min(first.dueTime, time)) }
    return true
  }

  /// Notes how long it took to publish and commit a window; the bytes that may wait while the input is behind
  /// follow that.
  public mutating func notePublication(milliseconds: Int64) {
    let most = options.backlogCommitMilliseconds
    if milliseconds > most {
      // What has a price whatever it holds would take no less in small pieces.
      let least = options.backlogMaxBytes / Self.greatestShrinking
      let fitting = Double(waitingBytes) * Double(most) / Double(milliseconds)
      backlogBytes = min(backlogBytes, max(least, Int(fitting)))
    } else if milliseconds <= most / 2, waitingBytes >= backlogBytes / 2 {
      backlogBytes = min(options.backlogMaxBytes, max(1, backlogBytes) * 2)
    }
  }

  private static let greatestShrinking = 8

  /// Notes that what waited has been published, or was withdrawn as if it had never come.
  public mutating func reset(isPublished: Bool = true) {
    waitingRecords = 0
    waitingBytes = 0
    if isPublished { lastDueTime = first?.dueTime ?? lastDueTime }
    first = nil
  }
}

extension Int64 {
  /// The sum, or the greatest number if that is beyond it.
  fileprivate func addingOrGreatest(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
