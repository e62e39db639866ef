import Glibc

/// Passes signals as bytes through a pipe to a thread, so that handlers do only what is async-signal-safe.
///
/// libdispatch's threads, which run Swift tasks, block signals, and a program with an asynchronous `main` may have no
/// other threads. So this thread unblocks its signals, and lives as long as the process.
final class SignalThread: Sendable {
  private let descriptor: Int32
  private let name: String
  private let signals: [Int32]
  private let onByte: @Sendable (UInt8) -> Void

  private init(
    _ descriptor: Int32,
    _ name: String,
    _ signals: [Int32],
    _ onByte: @escaping @Sendable (UInt8) -> Void
  ) {
    self.descriptor = descriptor
    self.name = name
    self.signals = signals
    self.onByte = onByte
  }

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
    var thread = pthread_t()
    let owner = Unmanaged.passRetained(SignalThread(ends[0], name, signals, onByte)).toOpaque()
    let result = pthread_create(&thread, nil, { @Sendable in signalThreadMain($0) }, owner)
    precondition(result == 0, "cannot start the thread \(name): \(String(cString: strerror(result)))")
    pthread_detach(thread)
    return ends[1]
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

  fileprivate func run() {
    ThreadName.set(name)
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
}

private func signalThreadMain(_ owner: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let owner else { return nil }
  Unmanaged<SignalThread>.fromOpaque(owner).takeRetainedValue().run()
  return nil
}
