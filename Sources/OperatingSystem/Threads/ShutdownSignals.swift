import Glibc
import Synchronization

/// SIGINT, SIGTERM and, if wanted, SIGHUP as a request to stop. A second signal ends the process at once with 128 plus its
/// number (130, 143 and 129), the exit code that shells report for a signal.
///
/// The handler counts, and passes the signal to a separate thread (``SignalThread``), which calls the callback. The second
/// signal ends the process from within the handler, so that it works even if everything else is blocked.
package enum ShutdownSignals {
  /// Handles the signals for the rest of the process's life. Call it once, early.
  ///
  /// - Parameters:
  ///   - onHangup: whether SIGHUP, by which a closed terminal ends its processes, is one of them. It is not if the
  ///     process was started with it ignored, as by `nohup`.
  ///   - onRequest: called with the first signal, on a separate thread; it may block and log.
  package static func install(
    onHangup: Bool = false,
    onRequest: @escaping @Sendable (_ signal: Int32) -> Void = { _ in }
  ) {
    signalCount.store(0, ordering: .sequentiallyConsistent)
    let signals = [SIGINT, SIGTERM] + (onHangup && !isIgnored(SIGHUP) ? [SIGHUP] : [])
    let pipe = SignalThread.start("signals", signals: signals) { onRequest(Int32($0)) }
    let isFirst = signalPipe.compareExchange(expected: -1, desired: pipe, ordering: .sequentiallyConsistent)
    precondition(isFirst.exchanged, "the shutdown signals are installed already")
    SignalThread.handle(signals) { @Sendable in handleShutdownSignal($0) }
  }

  private static func isIgnored(_ signal: Int32) -> Bool {
    var action = sigaction()
    sigaction(signal, nil, &action)
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
      == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// Makes writing to a closed pipe or connection fail with `EPIPE` instead of ending the process.
  package static func ignoreBrokenPipes() {
    _ = Glibc.signal(SIGPIPE, SIG_IGN)
  }

  /// Lets an assertion in a C library end the process at once, after printing its line.
  ///
  /// Swift's runtime would first stop all other threads and print a backtrace. If the assertion fails on a thread of
  /// librdkafka, which blocks all signals, that has hung indefinitely, and a hanging process is not restarted. Failures
  /// in Swift code use another signal and keep their backtrace.
  package static func endOnAbort() {
    _ = Glibc.signal(SIGABRT, SIG_DFL)
  }
}

/// The pipe's write end; -1 before installation. Constant-initialised, because a signal handler must not run
/// initialisers.
private let signalPipe = Atomic<Int32>(-1)
private let signalCount = Atomic<Int>(0)

/// Runs in a signal handler.
private func handleShutdownSignal(_ signal: Int32) {
  if signalCount.add(1, ordering: .sequentiallyConsistent).oldValue > 0 { _exit(128 + signal) }
  SignalThread.send(UInt8(truncatingIfNeeded: signal), to: signalPipe.load(ordering: .sequentiallyConsistent))
}

/// SIGHUP as a request to reload the configuration. Signals during a pending request are merged.
///
/// A separate thread handles it: see ``SignalThread``.
package enum HangupSignal {
  /// Handles the signal for the rest of the process's life. Call it once, early.
  ///
  /// - Parameter onRequest: called on a separate thread; it may block and log.
  package static func install(onRequest: @escaping @Sendable () -> Void) {
    let pipe = SignalThread.start("reload", signals: [SIGHUP]) { _ in
      // Cleared before the call: a signal from now on is a new request.
      isHangupPending.store(false, ordering: .sequentiallyConsistent)
      onRequest()
    }
    let isFirst = hangupPipe.compareExchange(expected: -1, desired: pipe, ordering: .sequentiallyConsistent)
    precondition(isFirst.exchanged, "the reload signal is installed already")
    SignalThread.handle([SIGHUP]) { @Sendable _ in handleHangupSignal() }
  }
}

/// The pipe's write end; -1 before installation. Constant-initialised, because a signal handler must not run
/// initialisers.
private let hangupPipe = Atomic<Int32>(-1)
/// Whether a byte is in the pipe, so that the pipe never fills up.
private let isHangupPending = Atomic<Bool>(false)

/// Runs in a signal handler.
private func handleHangupSignal() {
  guard !isHangupPending.exchange(true, ordering: .sequentiallyConsistent) else { return }
  SignalThread.send(0, to: hangupPipe.load(ordering: .sequentiallyConsistent))
}

/// Passes signals as bytes through a pipe to a thread, so that handlers do only what is async-signal-safe.
///
/// libdispatch's threads, which run Swift tasks, block signals, and a program with an asynchronous `main` may have no
/// other threads. So this thread unblocks its signals, and lives as long as the process.
enum SignalThread {
  /// Starts a thread that lives as long as the process.
  ///
  /// - Parameters:
  ///   - name: the thread's name.
  ///   - signals: the signals that it unblocks.
  ///   - onByte: called on the thread with each byte; it may block and log.
  /// - Returns: the descriptor for handlers to write to (``send(_:to:)``).
  static func start(
    _ name: String,
    signals: [Int32],
    onByte: @escaping @Sendable (UInt8) -> Void
  ) -> Int32 {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0, "cannot make a pipe: \(String(cString: strerror(errno)))")
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let descriptor = ends[0]
    let thread = SystemThread(name) { pass(descriptor, signals, onByte) }
    precondition(thread != nil, "cannot start the thread \(name)")
    thread?.detach()
    return ends[1]
  }

  private static func pass(_ descriptor: Int32, _ signals: [Int32], _ onByte: (UInt8) -> Void) {
    var mask = sigset_t()
    sigemptyset(&mask)
    for signal in signals { sigaddset(&mask, signal) }
    pthread_sigmask(SIG_UNBLOCK, &mask, nil)
    var byte: UInt8 = 0
    while true {
      let count = read(descriptor, &byte, 1)
      if count == 1 {
        onByte(byte)
      } else if count == 0 || errno != EINTR {
        return
      }
    }
  }

  /// Installs a handler for signals. Interrupted system calls are restarted.
  static func handle(_ signals: [Int32], with handler: @escaping @convention(c) @Sendable (Int32) -> Void) {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = handler
    action.sa_flags = Int32(bitPattern: UInt32(SA_RESTART))
    sigemptyset(&action.sa_mask)
    for signal in signals { sigaction(signal, &action, nil) }
  }

  /// Writes a byte from within a handler. Async-signal-safe; preserves `errno`.
  static func send(_ byte: UInt8, to descriptor: Int32) {
    let savedError = errno
    var byte = byte
    _ = write(descriptor, &byte, 1)
    errno = savedError
  }
}
