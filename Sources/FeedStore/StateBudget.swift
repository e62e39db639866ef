internal import Synchronization

/// The bytes of state in a process. All its stores share one budget, to enforce `limits.maxStateBytes`.
public final class StateBudget: Sendable {
  private let count = Atomic(0)

  public init() {}

  /// Bytes of all feeds, by the formula of `StateSize`.
  public var bytes: Int { count.load(ordering: .relaxed) }

  func add(_ bytes: Int) { count.add(bytes, ordering: .relaxed) }
}

/// One store's share of the process's budget. The bytes are returned when it is released. Not thread-safe.
final class StateShare {
  private let budget: StateBudget
  @exclusivity(unchecked) private(set) var bytes = 0

  init(_ budget: StateBudget) { self.budget = budget }

  deinit { budget.add(-bytes) }

  /// Bytes of state in the whole process.
  var processBytes: Int { budget.bytes }

  @inline(__always)
  func add(_ growth: Int) {
    if growth == 0 { return }
    bytes += growth
    budget.add(growth)
  }
}
