import CCoroutine

/// Stacks of tasks that have ended, for those to come.
final class CoroutineStacks {
  private var free: [OpaquePointer] = []
  /// Memory is taken as it is touched; debug builds need much.
  private static let bytes = 4 << 20

  /// Actors of a simulation are used by one task each, all on one thread.
  private static let trustsIsolation: Void = feedstore_coroutine_trust_isolation()

  init() { Self.trustsIsolation }

  deinit { for stack in free { feedstore_coroutine_free(stack) } }

  func take() -> OpaquePointer {
    if let stack = free.popLast() { return stack }
    guard let stack = feedstore_coroutine_new(Self.bytes) else { fatalError("no memory for a stack") }
    return stack
  }

  func giveBack(_ stack: OpaquePointer) { free.append(stack) }
}
