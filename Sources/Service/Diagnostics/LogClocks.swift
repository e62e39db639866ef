/// The clocks that the log uses; tests replace them.
public struct LogClocks: Sendable {
  /// Milliseconds since 1970, for the lines.
  public var wall: @Sendable () -> Int64 = WallClock.milliseconds
  /// Milliseconds of a monotonic clock, for counting repetitions.
  public var monotonic: @Sendable () -> Int64 = MonotonicClock.milliseconds
  /// Runs an action after so many milliseconds, on any thread.
  public var later: @Sendable (_ milliseconds: Int64, _ action: @escaping @Sendable () -> Void) -> Void = {
    milliseconds,
    action in
    Task.detached {
      try await Task.sleep(for: .milliseconds(milliseconds))
      action()
    }
  }

  /// The system's clocks.
  public init() {}
}
