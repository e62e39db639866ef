import Synchronization

/// A request for an orderly stop: set once, from any thread, and polled often.
public final class StopRequest: Sendable {
  /// When the stop was requested, in milliseconds of the monotonic clock; 0 before.
  private let requestedAt = Atomic<Int64>(0)
  private let clock: @Sendable () -> Int64

  /// The maximum time for an orderly stop. After that, the owner of the process ends it: without brokers, a few calls
  /// of librdkafka exceed their timeouts.
  public static let graceMilliseconds: Int64 = 10_000
  /// The part of that time reserved for closing.
  private static let reserveMilliseconds: Int64 = 1_000

  public convenience init() { self.init(clock: MonotonicClock.milliseconds) }

  /// - Parameter clock: milliseconds of the monotonic clock.
  package init(clock: @escaping @Sendable () -> Int64) { self.clock = clock }

  /// Requests the stop; repeated requests have no effect.
  public func request() {
    let now = max(1, clock())
    _ = requestedAt.compareExchange(expected: 0, desired: now, ordering: .relaxed)
  }

  public var isRequested: Bool { requestedAt.load(ordering: .relaxed) != 0 }

  /// When to give up, in milliseconds of the monotonic clock; nil before a stop is requested.
  package var deadline: Int64? {
    let requestedAt = requestedAt.load(ordering: .relaxed)
    return requestedAt == 0 ? nil : requestedAt + Self.graceMilliseconds - Self.reserveMilliseconds
  }
}
