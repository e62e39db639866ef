import Glibc

/// A thread of the system that runs one function, which may block.
package struct SystemThread: Sendable {
  private let thread: pthread_t

  private final class Job {
    let body: () -> Void

    init(_ body: @escaping () -> Void) { self.body = body }
  }

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - name: the name in debuggers and `top -H`; at most 15 bytes are used.
  ///   - stackSize: in bytes, reserved but not committed; nil for the system's default.
  /// - Returns: nil if the system cannot create a thread.
  package init?(_ name: String, stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void) {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    if let stackSize {
      let isSized = pthread_attr_setstacksize(&attributes, stackSize)
      precondition(isSized == 0, "a stack of \(stackSize) bytes is too small or not possible")
    }
    let job = Unmanaged.passRetained(
      Job {
        SystemThread.name(name)
        body()
      }
    )
    var thread = pthread_t()
    let result = pthread_create(&thread, &attributes, { @Sendable in SystemThread.main($0) }, job.toOpaque())
    guard result == 0 else {
      job.release()
      return nil
    }
    self.thread = thread
  }

  /// Runs a function that may block, on a separate thread.
  ///
  /// - Returns: its result; nil if the system cannot create a thread.
  package static func run<Result: Sendable>(
    _ name: String,
    _ body: @escaping @Sendable () -> Result?
  ) async -> Result? {
    await withCheckedContinuation { continuation in
      let thread = SystemThread(name, stackSize: 1 << 20) { continuation.resume(returning: body()) }
      if let thread { thread.detach() } else { continuation.resume(returning: nil) }
    }
  }

  /// Whether the caller runs on this thread.
  var isCurrent: Bool { pthread_equal(pthread_self(), thread) != 0 }

  /// Waits for the thread's end. Call either this or ``detach()``, once.
  package func join() { pthread_join(thread, nil) }

  /// Lets the thread end by itself.
  package func detach() { pthread_detach(thread) }

  /// Not isolated, because C calls it.
  private static func main(_ job: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let job else { return nil }
    Unmanaged<Job>.fromOpaque(job).takeRetainedValue().body()
    return nil
  }

  /// Names the calling thread.
  ///
  /// `pthread_setname_np` is a GNU extension that Swift does not import, and `prctl` is variadic, so the name is
  /// written to a file in `/proc`. Errors are ignored.
  private static func name(_ name: String) {
    let descriptor = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let bytes = Array(name.utf8.prefix(15))
    _ = write(descriptor, bytes, bytes.count)
  }
}
