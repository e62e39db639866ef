import Synchronization

/// Asks what runs to come to a good end: set once, from any thread, looked at often.
public final class StopRequest: Sendable {
  /// When it was asked for, in milliseconds of the monotonic clock; 0 before.
  private let requestedAt = Atomic<Int64>(0)
  private let clock: @Sendable () -> Int64

  /// How long the good end may take. Whoever owns the process ends it then: a few calls of librdkafka go on
  /// longer than they are told to when the brokers are gone.
  public static let graceMilliseconds: Int64 = 10_000
  /// Kept of it for closing what is left.
  private static let reserveMilliseconds: Int64 = 1_000

  public convenience init() { self.init(clock: MonotonicClock.milliseconds) }

  /// - Parameter clock: milliseconds of the monotonic clock.
  package init(clock: @escaping @Sendable () -> Int64) { self.clock = clock }

  /// Asks; asking again changes nothing.
  public func request() {
    let now = max(1, clock())
    _ = requestedAt.compareExchange(expected: 0, desired: now, ordering: .relaxed)
  }

  public var isRequested: Bool { requestedAt.load(ordering: .relaxed) != 0 }

  /// Until when to go on trying, in milliseconds of the monotonic clock; nil before the end was asked for.
  package var deadline: Int64? {
    let requestedAt = requestedAt.load(ordering: .relaxed)
    return requestedAt == 0 ? nil : requestedAt + Self.graceMilliseconds - Self.reserveMilliseconds
  }
}
