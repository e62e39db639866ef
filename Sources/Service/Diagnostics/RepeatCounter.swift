/// Counts what is said again and again, instead of repeating it: a state machine that is told the time.
///
/// What is said for the first time is written at once. When it is said again within an interval, that is counted, and at the
/// interval's end the newest is written with the count. An interval in which it is not said ends it, and the next
/// time is a first one. Nothing is lost: everything added is written, or part of a count that is.
///
/// ```
/// added     x x x x     x x               x
/// written   x         x3      x2          x
///           └──interval──┘└─interval──┘
/// ```
public struct RepeatCounter<Key: Hashable & Sendable, Element: Sendable>: Sendable {
  /// What is to be written.
  public struct Occurrence: Sendable {
    public let element: Element
    /// How often it was said since it was written last; 0 for what is written at once.
    public let repeated: Int
  }

  private struct Entry {
    /// When its interval began.
    var start: Int64
    /// Orders those that began at the same time.
    let number: Int
    var newest: Element
    var count = 0
  }

  private let intervalMilliseconds: Int64
  private let capacity: Int
  private var entries: [Key: Entry] = [:]
  private var added = 0

  /// - Parameters:
  ///   - intervalMilliseconds: how long after it was written the same is counted.
  ///   - capacity: how many different ones are remembered; for one more, the count of the oldest is written.
  public init(intervalMilliseconds: Int64 = 30_000, capacity: Int = 256) {
    precondition(intervalMilliseconds > 0 && capacity > 0)
    self.intervalMilliseconds = intervalMilliseconds
    self.capacity = capacity
  }

  /// Takes what is said.
  ///
  /// - Parameters:
  ///   - key: equal for what is the same.
  ///   - now: milliseconds of a clock that does not go back.
  /// - Returns: what is to be written now, in order; empty if it was only counted.
  public mutating func add(_ element: Element, key: Key, at now: Int64) -> [Occurrence] {
    guard var entry = entries[key] else {
      var occurrences: [Occurrence] = []
      if entries.count >= capacity { occurrences = makeRoom(at: now) }
      entries[key] = Entry(start: now, number: added, newest: element)
      added += 1
      return occurrences + [Occurrence(element: element, repeated: 0)]
    }
    entry.newest = element
    defer { entries[key] = entry }
    guard now - entry.start >= intervalMilliseconds else {
      entry.count += 1
      return []
    }
    // The end of the interval has passed unnoticed.
    let repeated = entry.count == 0 ? 0 : entry.count + 1
    entry.start = now
    entry.count = 0
    return [Occurrence(element: element, repeated: repeated)]
  }

  /// Ends the intervals that are over.
  ///
  /// - Returns: what was counted in them, oldest first.
  public mutating func endIntervals(at now: Int64) -> [Occurrence] {
    take(startedBy: now - intervalMilliseconds, next: now)
  }

  /// Ends everything: what is said after it is said for the first time.
  ///
  /// - Returns: what was counted, oldest first.
  public mutating func finish() -> [Occurrence] {
    take(startedBy: .max, next: nil)
  }

  /// When ``endIntervals(at:)`` has something to write; nil if nothing is counted.
  public var nextEnd: Int64? {
    entries.values.lazy.filter { $0.count > 0 }.map { $0.start + intervalMilliseconds }.min()
  }

  /// Takes the counts of the intervals that began by a time.
  ///
  /// - Parameter next: when the next interval begins of what was counted; nil if there is none.
  private mutating func take(startedBy limit: Int64, next: Int64?) -> [Occurrence] {
    let over = entries.filter { $0.value.start <= limit }
    for (key, entry) in over {
      let start = entry.count > 0 ? next : nil
      entries[key] = start.map { Entry(start: $0, number: entry.number, newest: entry.newest) }
    }
    return over.values.filter { $0.count > 0 }
      .sorted { ($0.start, $0.number) < ($1.start, $1.number) }
      .map { Occurrence(element: $0.newest, repeated: $0.count) }
  }

  /// Forgets what has ended, and if there is nothing, the oldest.
  private mutating func makeRoom(at now: Int64) -> [Occurrence] {
    let occurrences = endIntervals(at: now)
    guard entries.count >= capacity,
      let oldest = entries.min(by: { ($0.value.start, $0.value.number) < ($1.value.start, $1.value.number) })
    else { return occurrences }
    entries[oldest.key] = nil
    guard oldest.value.count > 0 else { return occurrences }
    return occurrences + [Occurrence(element: oldest.value.newest, repeated: oldest.value.count)]
  }
}
