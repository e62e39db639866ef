/// Says when a recorded record is due when a recording is played again, by the distances of its timestamps.
struct Pacer {
  /// How many times faster than recorded.
  private let speed: Double
  /// The first record's timestamp, and the time it was played.
  private var start: (timestamp: Int64, time: Int64)?

  /// - Parameter speed: more than 0; 1 is as recorded, 2 twice as fast.
  init(speed: Double) {
    self.speed = speed
  }

  /// How long to wait before a record, in milliseconds. A timestamp before the first's is due at once.
  ///
  /// - Parameters:
  ///   - timestamp: the record's, in milliseconds.
  ///   - now: the time, in milliseconds of any clock that goes evenly.
  mutating func wait(for timestamp: Int64, now: Int64) -> Int64 {
    guard let start else {
      start = (timestamp, now)
      return 0
    }
    let distance = Double(timestamp) - Double(start.timestamp)
    // Where a recording stands still for ages, so does the result, but in a number that fits.
    let due = min(distance / speed, 1e15)
    return max(0, start.time + Int64(due) - now)
  }
}
