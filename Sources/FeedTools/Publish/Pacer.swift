/// Computes when a record of a recording is due, from the distances between timestamps.
struct Pacer {
  /// The speed, as a multiple of the recorded one.
  private let speed: Double
  /// The first record's timestamp, and the time at which it was sent.
  private var start: (timestamp: Int64, time: Int64)?

  /// - Parameter speed: greater than 0; 1 is the recorded speed, 2 twice as fast.
  init(speed: Double) {
    self.speed = speed
  }

  /// The wait before a record, in milliseconds. A timestamp before the first one is due at once.
  ///
  /// - Parameters:
  ///   - timestamp: the record's timestamp, in milliseconds.
  ///   - now: the time, in milliseconds of a steady clock.
  mutating func wait(for timestamp: Int64, now: Int64) -> Int64 {
    guard let start else {
      start = (timestamp, now)
      return 0
    }
    let distance = Double(timestamp) - Double(start.timestamp)
    // Limited, so that a huge gap in the recording cannot overflow.
    let due = min(distance / speed, 1e15)
    return max(0, start.time + Int64(due) - now)
  }
}
