import CCoroutine

/// Stacks of ended tasks, for future ones.
final class CoroutineStacks {
  private var unused: [OpaquePointer] = []
  /// Memory is allocated as it is touched; debug builds need much.
  private static let bytes = 4 << 20

  /// One task uses each of a simulation's actors, all on one thread.
  private static let trustsIsolation: Void = feedstore_coroutine_trust_isolation()

  init() { Self.trustsIsolation }

  deinit { free() }

  func free() {
    for stack in unused { feedstore_coroutine_free(stack) }
    unused = []
  }

  func take() -> OpaquePointer {
    if let stack = unused.popLast() { return stack }
    guard let stack = feedstore_coroutine_new(Self.bytes) else { fatalError("no memory for a stack") }
    return stack
  }

  func giveBack(_ stack: OpaquePointer) { unused.append(stack) }
}
