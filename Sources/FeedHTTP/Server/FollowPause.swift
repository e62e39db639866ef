import Service

/// How long it is waited before feeds are followed again after a failure: twice as long each time, as long as
/// failures come one after the other.
struct FollowPause {
  private static let seconds = ExponentialBackoff<Int64>(from: 1, to: 60)

  private var failuresInARow = 0

  /// The pause after a failure.
  ///
  /// - Parameter milliseconds: how long they were followed before it. If that was longer than any pause, this is
  ///   the first failure again.
  mutating func seconds(afterFollowing milliseconds: Int64) -> Int64 {
    if milliseconds > Self.seconds.greatest * 1_000 { failuresInARow = 0 }
    defer { failuresInARow += 1 }
    return Self.seconds[failuresInARow]
  }
}
