import Glibc
import Synchronization

/// SIGHUP as a request to read the configuration again. Signals that come while a request is under way become one.
///
/// The handler does what is safe in one: it writes a byte to a pipe. A thread of its own reads it and calls the callback; it
/// unblocks the signal, which all others may have blocked, and lives as long as the process.
public enum ReloadSignal {
  /// Takes over the signal, for the rest of the process's life. Call it once, early.
  ///
  /// - Parameter onRequest: called on a thread of its own; it may block and may log.
  public static func install(onRequest: @escaping @Sendable () -> Void) {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0, "cannot make a pipe: \(String(cString: strerror(errno)))")
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let isFirst = reloadPipe.compareExchange(
      expected: -1,
      desired: ends[1],
      ordering: .sequentiallyConsistent
    )
    precondition(isFirst.exchanged, "the reload signal is installed already")
    var thread = pthread_t()
    let owner = Unmanaged.passRetained(ReloadWaiter(descriptor: ends[0], onRequest: onRequest)).toOpaque()
    let result = pthread_create(&thread, nil, { @Sendable in reloadThreadMain($0) }, owner)
    precondition(result == 0, "cannot start the reload thread: \(String(cString: strerror(result)))")
    pthread_detach(thread)

    var action = sigaction()
    action.__sigaction_handler.sa_handler = { @Sendable _ in handleReloadSignal() }
    action.sa_flags = Int32(bitPattern: UInt32(SA_RESTART))
    sigemptyset(&action.sa_mask)
    sigaction(SIGHUP, &action, nil)
  }
}

/// What the thread is told.
private final class ReloadWaiter: Sendable {
  let descriptor: Int32
  let onRequest: @Sendable () -> Void

  init(descriptor: Int32, onRequest: @escaping @Sendable () -> Void) {
    self.descriptor = descriptor
    self.onRequest = onRequest
  }
}

/// Where the handler writes; -1 before installation. Constant-initialised, as a handler must not initialise.
private let reloadPipe = Atomic<Int32>(-1)
/// Whether a byte waits in the pipe, which so never fills up.
private let isReloadRequested = Atomic<Bool>(false)

/// Runs in a signal handler: only what is async-signal-safe, and `errno` stays as it was.
private func handleReloadSignal() {
  guard !isReloadRequested.exchange(true, ordering: .sequentiallyConsistent) else { return }
  let savedError = errno
  var byte: UInt8 = 0
  _ = write(reloadPipe.load(ordering: .sequentiallyConsistent), &byte, 1)
  errno = savedError
}

private func reloadThreadMain(_ owner: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let owner else { return nil }
  let waiter = Unmanaged<ReloadWaiter>.fromOpaque(owner).takeRetainedValue()
  ThreadName.set("reload")
  var signals = sigset_t()
  sigemptyset(&signals)
  sigaddset(&signals, SIGHUP)
  pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  var byte: UInt8 = 0
  while true {
    let count = read(waiter.descriptor, &byte, 1)
    if count == 1 {
      // Before the request: a signal from here on asks for another one.
      isReloadRequested.store(false, ordering: .sequentiallyConsistent)
      waiter.onRequest()
    } else if count == 0 || errno != EINTR {
      return nil
    }
  }
}
