import CCoroutine

/// Stacks of tasks that have ended, for those to come.
final class CoroutineStacks {
  private var free: [OpaquePointer] = []
  /// Memory is taken as it is touched; debug builds need much.
  private static let bytes = 4 << 20

  deinit { for stack in free { feedstore_coroutine_free(stack) } }

  func take() -> OpaquePointer {
    if let stack = free.popLast() { return stack }
    guard let stack = feedstore_coroutine_new(Self.bytes) else { fatalError("no memory for a stack") }
    return stack
  }

  func giveBack(_ stack: OpaquePointer) { free.append(stack) }
}
