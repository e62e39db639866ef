import Glibc

/// A thread for one function that blocks; it ends with it, and nobody waits for it.
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

  /// Starts it.
  ///
  /// - Parameter name: shown by debuggers and `top -H`, up to 15 bytes of it.
  /// - Returns: false if the machine has no thread left.
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

  /// The thread's entry.
  fileprivate static func main(_ job: UnsafeMutableRawPointer) {
    Unmanaged<Job>.fromOpaque(job).takeRetainedValue().run()
  }
}

/// A free function: a closure that C calls must not inherit anybody's isolation.
private func backgroundThreadMain(_ job: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let job { BackgroundThread.main(job) }
  return nil
}
