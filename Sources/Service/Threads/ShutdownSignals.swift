import Glibc
import Synchronization

/// SIGINT and SIGTERM as a request to stop, once; a second one ends the process at once with code 128 and its number, as
/// shells say it of who is ended by a signal: 130 and 143.
///
/// The handler counts, and hands the signal to a thread of its own (``SignalThread``), which sets ``isRequested``, calls the
/// callback and wakes those who wait. The second signal ends the process from within the handler, so that it works however
/// stuck everything else is.
public final class ShutdownSignals: Sendable {
  private struct State {
    var signal: Int32?
    var waiting: [Int: AsyncStream<Int32>.Continuation] = [:]
    var nextWaiter = 0
  }

  private let state = Mutex(State())
  private let onRequest: @Sendable (Int32) -> Void

  private init(onRequest: @escaping @Sendable (Int32) -> Void) {
    self.onRequest = onRequest
  }

  /// Takes over the signals, for the rest of the process's life. Call it once, early.
  ///
  /// - Parameter onRequest: Called with the first signal, on a thread of its own; it may block and may log.
  public static func install(
    onRequest: @escaping @Sendable (_ signal: Int32) -> Void = { _ in }
  ) -> ShutdownSignals {
    signalCount.store(0, ordering: .sequentiallyConsistent)
    let shutdown = ShutdownSignals(onRequest: onRequest)
    let pipe = SignalThread.start("signals", signals: [SIGINT, SIGTERM]) { shutdown.request(Int32($0)) }
    let isFirst = signalPipe.compareExchange(expected: -1, desired: pipe, ordering: .sequentiallyConsistent)
    precondition(isFirst.exchanged, "the shutdown signals are installed already")
    SignalThread.handle([SIGINT, SIGTERM]) { @Sendable in handleShutdownSignal($0) }
    return shutdown
  }

  /// Makes writing to a closed pipe or connection an error (`EPIPE`) instead of the process's end.
  public static func ignoreBrokenPipes() {
    _ = Glibc.signal(SIGPIPE, SIG_IGN)
  }

  /// Lets an assertion of a C library end the process at once, after the line that it prints.
  ///
  /// Swift's runtime would print a backtrace first, and for that stop all other threads. Where the assertion fails in
  /// a thread of librdkafka's, which blocks all signals, it was seen to hang there for good, and a process that hangs
  /// is restarted by nobody. What fails in Swift code keeps its backtrace: that is another signal.
  public static func endOnAbort() {
    _ = Glibc.signal(SIGABRT, SIG_DFL)
  }

  /// Whether a signal came. Cheap enough for once a batch.
  public var isRequested: Bool {
    signal != nil
  }

  /// The first signal, once it came.
  public var signal: Int32? {
    state.withLock(\.signal)
  }

  /// Waits for the first signal.
  ///
  /// - Returns: Its number; nil if the task was cancelled first.
  public func wait() async -> Int32? {
    for await signal in requests() { return signal }
    return nil
  }

  /// A sequence of the one signal, which has come or will come.
  public func requests() -> AsyncStream<Int32> {
    AsyncStream { continuation in
      let signal = state.withLock { state -> Int32? in
        guard state.signal == nil else { return state.signal }
        let waiter = state.nextWaiter
        state.nextWaiter += 1
        state.waiting[waiter] = continuation
        continuation.onTermination = { @Sendable [weak self] _ in self?.forget(waiter) }
        return nil
      }
      if let signal {
        continuation.yield(signal)
        continuation.finish()
      }
    }
  }

  private func forget(_ waiter: Int) {
    _ = state.withLock { $0.waiting.removeValue(forKey: waiter) }
  }

  private func request(_ signal: Int32) {
    let waiting = state.withLock { state in
      state.signal = signal
      defer { state.waiting = [:] }
      return state.waiting.values.map { $0 }
    }
    onRequest(signal)
    for continuation in waiting {
      continuation.yield(signal)
      continuation.finish()
    }
  }
}

/// Where the handler writes; -1 before installation. Constant-initialised, as a handler must not initialise.
private let signalPipe = Atomic<Int32>(-1)
private let signalCount = Atomic<Int>(0)

/// Runs in a signal handler.
private func handleShutdownSignal(_ signal: Int32) {
  if signalCount.add(1, ordering: .sequentiallyConsistent).oldValue > 0 { _exit(128 + signal) }
  SignalThread.send(UInt8(truncatingIfNeeded: signal), to: signalPipe.load(ordering: .sequentiallyConsistent))
}
