import Glibc

/// A detached thread that runs one blocking function.
public enum BackgroundThread {
  private final class Job {
    let name: String
    let body: @Sendable () -> Void

    init(_ name: String, _ body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }

    func run() {
      ThreadName.set(name)
      body()
    }
  }

  /// Starts the thread.
  ///
  /// - Parameter name: the name in debuggers and `top -H`; at most 15 bytes are used.
  /// - Returns: false if the system cannot create a thread.
  public static func start(name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
    let job = Unmanaged.passRetained(Job(name, body))
    var thread = pthread_t()
    guard pthread_create(&thread, nil, { @Sendable in backgroundThreadMain($0) }, job.toOpaque()) == 0 else {
      job.release()
      return false
    }
    pthread_detach(thread)
    return true
  }

  /// Runs the job on the thread.
  fileprivate static func main(_ job: UnsafeMutableRawPointer) {
    Unmanaged<Job>.fromOpaque(job).takeRetainedValue().run()
  }
}

/// A free function: a closure that C calls must not inherit actor isolation.
private func backgroundThreadMain(_ job: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let job { BackgroundThread.main(job) }
  return nil
}
