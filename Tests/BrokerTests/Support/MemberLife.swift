import Synchronization

/// Whether a member's process runs, and whether it may end.
final class MemberLife: Sendable {
  private let state: Mutex<State>

  private struct State {
    var end: Member.End?
    var mayEnd: Bool
    var guardian: MemberGuard?
  }

  init(mayEnd: Bool) {
    state = Mutex(State(mayEnd: mayEnd))
  }

  var end: Member.End? { state.withLock { $0.end } }

  /// Whether it ended unexpectedly.
  var hasFailed: Bool { state.withLock { $0.end != nil && !$0.mayEnd } }

  /// Records the end of the process, which may precede the guard's creation.
  func note(_ end: Member.End) {
    state.withLock { state in
      state.end = end
      state.guardian?.dismiss()
    }
  }

  func guarded(by guardian: MemberGuard) {
    state.withLock { state in
      state.guardian = guardian
      if state.end != nil { guardian.dismiss() }
    }
  }

  /// Calls the body while the process runs: after its end, its id may be reused.
  func whileRunning(mayEnd: Bool, _ body: () -> Void) {
    state.withLock { state in
      guard state.end == nil else { return }
      if mayEnd { state.mayEnd = true }
      body()
    }
  }
}
