/// The time, as the log needs it; tests hand in their own.
public struct LogClocks: Sendable {
  /// Milliseconds since 1970, for the lines.
  public var wall: @Sendable () -> Int64 = WallClock.milliseconds
  /// Milliseconds of a clock that does not go back, for what is counted.
  public var monotonic: @Sendable () -> Int64 = MonotonicClock.milliseconds
  /// Does something after so many milliseconds, on any thread.
  public var later: @Sendable (_ milliseconds: Int64, _ action: @escaping @Sendable () -> Void) -> Void = {
    milliseconds,
    action in
    Task.detached {
      try await Task.sleep(for: .milliseconds(milliseconds))
      action()
    }
  }

  /// Those of the system.
  public init() {}
}
