/// Counts repeated elements instead of repeating them: a state machine without a clock.
///
/// The first element with a key is returned at once. Repetitions within an interval are counted, and at its end the
/// newest element is returned with the count. After an interval without repetitions, the next one counts as first
/// again. Nothing is lost: each element is returned or counted.
///
/// ```
/// added     x x x x     x x               x
/// written   x         x3      x2          x
///           └──interval──┘└─interval──┘
/// ```
package struct RepeatCounter<Key: Hashable & Sendable, Element: Sendable>: Sendable {
  /// An element to write.
  package struct Occurrence: Sendable {
    package let element: Element
    /// The number of repetitions since the last one; 0 for an element that is written at once.
    package let repeated: Int
  }

  private struct Entry {
    var start: Int64
    /// Orders elements that started at the same time.
    let number: Int
    var newest: Element
    var count = 0
  }

  private let intervalMilliseconds: Int64
  private let capacity: Int
  private var entries: [Key: Entry] = [:]
  private var added = 0

  /// - Parameters:
  ///   - intervalMilliseconds: the interval within which repetitions are counted.
  ///   - capacity: the maximum number of keys; to make room for another, the oldest count is returned.
  package init(intervalMilliseconds: Int64 = 30_000, capacity: Int = 256) {
    precondition(intervalMilliseconds > 0 && capacity > 0)
    self.intervalMilliseconds = intervalMilliseconds
    self.capacity = capacity
  }

  /// Adds an element.
  ///
  /// - Parameters:
  ///   - key: equal for repetitions.
  ///   - now: milliseconds of a monotonic clock.
  /// - Returns: the elements to write now, in order; empty if the element was only counted.
  package mutating func add(_ element: Element, key: Key, at now: Int64) -> [Occurrence] {
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
    // The interval has already ended.
    let repeated = entry.count == 0 ? 0 : entry.count + 1
    entry.start = now
    entry.count = 0
    return [Occurrence(element: element, repeated: repeated)]
  }

  /// Ends expired intervals.
  ///
  /// - Returns: the elements counted in them, oldest first.
  package mutating func endIntervals(at now: Int64) -> [Occurrence] {
    take(startedBy: now - intervalMilliseconds, next: now)
  }

  /// Ends all intervals; every later element counts as first.
  ///
  /// - Returns: the counted elements, oldest first.
  package mutating func finish() -> [Occurrence] {
    take(startedBy: .max, next: nil)
  }

  /// The time of the next call of ``endIntervals(at:)``; nil if nothing is counted.
  package var nextEnd: Int64? {
    entries.values.lazy.filter { $0.count > 0 }.map { $0.start + intervalMilliseconds }.min()
  }

  /// Returns the counts of the intervals that began at or before a time.
  ///
  /// - Parameter next: the start of the following interval for elements that were counted; nil for none.
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

  /// Removes expired keys or, if there are none, the oldest one.
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

/// Normalises texts, so that repetitions can be recognised.
enum RepeatText {
  /// librdkafka's note on earlier errors, as in `Connection refused (after 12ms in state CONNECT, 3 identical error(s)
  /// suppressed)`.
  nonisolated(unsafe) private static let note = /, [0-9][0-9.]* identical error\(s\) suppressed/
    .matchingSemantics(.unicodeScalar)
  /// A number before a unit that is only a duration or a count, or the number of an attempt.
  nonisolated(unsafe) private static let amount =
    #/
    (^ | [^A-Za-z0-9_\-\/:\#.\u{80}-\u{10FFFF}]) (?> [0-9] [0-9.]*)
    (?= \ ? (?: ms | us | µs | s | seconds | request\(s\) | in-flight | retry-queued | out-queue | partially-sent )
      (?: $ | [^A-Za-z0-9_\-\/:\#.\u{80}-\u{10FFFF}] ))
    | (timeout\ \#) (?> [0-9] [0-9.]*)
    /#
    .matchingSemantics(.unicodeScalar)

  /// The text without such numbers, and without such notes. Other numbers stay, because they identify brokers,
  /// partitions, offsets and codes.
  static func comparable(_ text: String) -> String {
    text.replacing(note, with: "").replacing(amount) { ($0.output.1 ?? $0.output.2 ?? "") + "0" }
  }
}
