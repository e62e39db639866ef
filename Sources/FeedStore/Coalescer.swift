/// Decides when waiting records are published: a state machine without a clock.
///
/// Every record waits, even if it is rejected, until the waiting records are due, or until the maximum number of
/// records or bytes waits (protocol, section 3.1). They are due one window after the previous publication was due, so a
/// steady stream is published once per window. But the first record waits at least for the idle window and at most for
/// the window, so a single update is published after the idle window. While the input lags, all that is read within
/// the backlog's window, up to the amount that can be published within the time allowed for it, is published together,
/// because each publication has a fixed cost.
public struct Coalescer: Sendable {
  private let options: CoalescingOptions
  /// The number of waiting records; a rejected record counts as several if it took long to undo.
  public private(set) var waitingRecords = 0
  /// The size of their keys and values, in bytes.
  public private(set) var waitingBytes = 0
  /// Whether the input lags, so that the larger bounds for that apply.
  public var isBehind = false
  /// The maximum number of waiting bytes while the input lags.
  private var backlogBytes: Int
  /// When the first waiting record arrived, and when it is due unless the input lags.
  private var first: (time: Int64, dueTime: Int64)?
  /// When the previous publication was due; nil before the first publication.
  private var lastDueTime: Int64?

  public init(_ options: CoalescingOptions) {
    self.options = options
    backlogBytes = options.backlogMaxBytes
  }

  /// When the waiting records are due, in milliseconds; nil if none wait.
  public var deadline: Int64? {
    guard let first else { return nil }
    guard hasBacklog else { return first.dueTime }
    return max(first.dueTime, first.time.addingOrGreatest(options.backlogWindowMilliseconds))
  }

  @inline(__always)
  public var isWaiting: Bool { first != nil }

  private var hasBacklog: Bool { isBehind && options.windowMilliseconds > 0 }

  /// Whether the waiting records must be published before a record of this time is applied, or now.
  public func isFlushDue(at time: Int64) -> Bool {
    guard let deadline else { return false }
    return options.windowMilliseconds == 0 || time >= deadline
  }

  /// Starts the window, if it has not started yet, even without a record.
  public mutating func begin(at time: Int64) {
    guard first == nil else { return }
    let window = options.windowMilliseconds
    let earliest = time.addingOrGreatest(min(options.idleWindowMilliseconds, window))
    let next = lastDueTime?.addingOrGreatest(window) ?? earliest
    first = (time, min(max(earliest, next), time.addingOrGreatest(window)))
  }

  /// The number of elements that take about as long to remove and put back as a record takes to apply.
  static let restoredPerRecord = 100

  /// Adds a record of this time. Returns whether the waiting records must be published at once.
  ///
  /// - Parameters:
  ///   - records: how many records it counts as.
  ///   - copiedBytes: bytes of waiting records that are kept as copies. They have the usual bound even while the input
  ///     lags.
  public mutating func add(records: Int = 1, bytes: Int, copiedBytes: Int = 0, at time: Int64) -> Bool {
    begin(at: time)
    waitingRecords += records
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

  /// Records how long a window took to publish and commit. It determines how many bytes may wait while the input lags.
  public mutating func notePublication(milliseconds: Int64) {
    let most = options.backlogCommitMilliseconds
    if milliseconds > most {
      // The limit has a minimum, because a publication's fixed cost does not fall with its size.
      let least = options.backlogMaxBytes / Self.greatestShrinking
      let fitting = Double(waitingBytes) * Double(most) / Double(milliseconds)
      backlogBytes = min(backlogBytes, max(least, Int(fitting)))
    } else if milliseconds <= most / 2, waitingBytes >= backlogBytes / 2 {
      backlogBytes = min(options.backlogMaxBytes, max(1, backlogBytes) * 2)
    }
  }

  private static let greatestShrinking = 8

  public mutating func reset(isPublished: Bool = true) {
    waitingRecords = 0
    waitingBytes = 0
    if isPublished { lastDueTime = first?.dueTime ?? lastDueTime }
    first = nil
  }
}

extension Int64 {
  /// The sum, or the maximum value if the sum overflows.
  fileprivate func addingOrGreatest(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}

/// How long updates wait for others, so that many become one changeset.
public struct CoalescingOptions: Sendable, Equatable {
  /// Maximum wait of the first waiting record, in milliseconds; with 0 every record flushes those before it.
  public var windowMilliseconds: Int64 = 100
  /// Minimum wait of the first waiting record, in milliseconds: how long a single update waits for others. If it is
  /// more than the window, the window applies.
  public var idleWindowMilliseconds: Int64 = 10
  /// Flush when this many records wait.
  public var maxRecords = 10_000
  /// Flush when the keys and values of the waiting records have this many bytes.
  public var maxBytes = 8_388_608

  // While the input lags, the larger of these limits and the ones above applies. A window of 0 disables these.

  /// Maximum wait of the first waiting record while the input lags, in milliseconds.
  public var backlogWindowMilliseconds: Int64 = 1_000
  /// Flush when this many records wait while the input lags.
  public var backlogMaxRecords = 1_000_000
  /// Flush when the keys and values of the waiting records have this many bytes while the input lags.
  public var backlogMaxBytes = 134_217_728
  /// Publications that take longer, in milliseconds, lower the limit on waiting bytes.
  public var backlogCommitMilliseconds: Int64 = 250

  public init() {}
}
