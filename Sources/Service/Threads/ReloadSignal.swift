import Glibc
import Synchronization

/// SIGHUP as a request to reload the configuration. Signals during a pending request are merged.
///
/// A separate thread handles it: see ``SignalThread``.
public enum ReloadSignal {
  /// Handles the signal for the rest of the process's life. Call it once, early.
  ///
  /// - Parameter onRequest: called on a separate thread; it may block and log.
  public static func install(onRequest: @escaping @Sendable () -> Void) {
    let pipe = SignalThread.start("reload", signals: [SIGHUP]) { _ in
      // Cleared before the call: a signal from now on is a new request.
      isReloadRequested.store(false, ordering: .sequentiallyConsistent)
      onRequest()
    }
    let isFirst = reloadPipe.compareExchange(expected: -1, desired: pipe, ordering: .sequentiallyConsistent)
    precondition(isFirst.exchanged, "the reload signal is installed already")
    SignalThread.handle([SIGHUP]) { @Sendable _ in handleReloadSignal() }
  }
}

/// The pipe's write end; -1 before installation. Constant-initialised, because a signal handler must not run
/// initialisers.
private let reloadPipe = Atomic<Int32>(-1)
/// Whether a byte is in the pipe, so that the pipe never fills up.
private let isReloadRequested = Atomic<Bool>(false)

/// Runs in a signal handler.
private func handleReloadSignal() {
  guard !isReloadRequested.exchange(true, ordering: .sequentiallyConsistent) else { return }
  SignalThread.send(0, to: reloadPipe.load(ordering: .sequentiallyConsistent))
}
