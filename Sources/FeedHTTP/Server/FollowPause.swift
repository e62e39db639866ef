import Service

/// The pause before following is restarted: an exponential backoff that starts over after a long success.
struct FollowPause {
  private static let seconds = ExponentialBackoff<Int64>(from: 1, to: 60)

  private var failuresInARow = 0

  /// The pause after a failure.
  ///
  /// - Parameter milliseconds: how long following worked before it failed. If that is longer than the maximum pause,
  ///   the backoff starts over.
  mutating func seconds(afterFollowing milliseconds: Int64) -> Int64 {
    if milliseconds > Self.seconds.greatest * 1_000 { failuresInARow = 0 }
    defer { failuresInARow += 1 }
    return Self.seconds[failuresInARow]
  }
}
