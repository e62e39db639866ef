import Glibc
import Synchronization

/// SIGHUP as a request to read the configuration again. Signals that come while a request is under way become one.
///
/// It is taken on a thread of its own: see ``SignalThread``.
public enum ReloadSignal {
  /// Takes over the signal, for the rest of the process's life. Call it once, early.
  ///
  /// - Parameter onRequest: called on a thread of its own; it may block and may log.
  public static func install(onRequest: @escaping @Sendable () -> Void) {
    let pipe = SignalThread.start("reload", signals: [SIGHUP]) { _ in
      // Before the request: a signal from here on asks for another one.
      isReloadRequested.store(false, ordering: .sequentiallyConsistent)
      onRequest()
    }
    let isFirst = reloadPipe.compareExchange(expected: -1, desired: pipe, ordering: .sequentiallyConsistent)
    precondition(isFirst.exchanged, "the reload signal is installed already")
    SignalThread.handle([SIGHUP]) { @Sendable _ in handleReloadSignal() }
  }
}

/// Where the handler writes; -1 before installation. Constant-initialised, as a handler must not initialise.
private let reloadPipe = Atomic<Int32>(-1)
/// Whether a byte is in the pipe, which so never fills up.
private let isReloadRequested = Atomic<Bool>(false)

/// Runs in a signal handler.
private func handleReloadSignal() {
  guard !isReloadRequested.exchange(true, ordering: .sequentiallyConsistent) else { return }
  SignalThread.send(0, to: reloadPipe.load(ordering: .sequentiallyConsistent))
}
