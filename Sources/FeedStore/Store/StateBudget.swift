internal import Synchronization

/// The bytes of state in a process. All its stores share one budget, to enforce `limits.maxStateBytes`.
public final class StateBudget: Sendable {
  private let count = Atomic(0)

  public init() {}

  /// Bytes of all feeds, by the formula of `StateSize`.
  public var bytes: Int { count.load(ordering: .relaxed) }

  func add(_ bytes: Int) { count.add(bytes, ordering: .relaxed) }
}
