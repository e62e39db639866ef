import Glibc

/// Runs code on a thread with a small stack, where unbounded recursion over input ends the process.
public enum SmallStack {
  /// Runs the body on such a thread, and waits. Put expectations after it, because the thread does not belong to a
  /// test.
  public static func run<Result>(bytes: Int = 128 << 10, _ body: () throws -> Result) throws -> Result {
    var result: Swift.Result<Result, any Error>?
    withoutActuallyEscaping(body) { body in
      let work = Unmanaged.passRetained(SmallStackWork { result = Swift.Result(catching: body) })
      let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
      pthread_attr_init(attributes)
      defer {
        pthread_attr_destroy(attributes)
        attributes.deallocate()
      }
      let isSized = pthread_attr_setstacksize(attributes, bytes)
      precondition(isSized == 0, "a stack of \(bytes) bytes is too small or not possible")
      var thread: pthread_t = 0
      let started = pthread_create(&thread, attributes, { @Sendable in smallStackMain($0) }, work.toOpaque())
      precondition(started == 0, "cannot start a thread")
      pthread_join(thread, nil)
    }
    guard let result else { preconditionFailure("the thread ended early") }
    return try result.get()
  }
}

private final class SmallStackWork {
  let body: () -> Void

  init(_ body: @escaping () -> Void) { self.body = body }
}

/// The thread's entry point. A free function: a closure that C calls must not inherit actor isolation.
private func smallStackMain(_ work: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let work else { return nil }
  Unmanaged<SmallStackWork>.fromOpaque(work).takeRetainedValue().body()
  return nil
}
