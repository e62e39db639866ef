import CCounting

/// Runs asynchronous code on the calling thread only, so that every run takes the same steps.
final class SingleThread: TaskExecutor, @unchecked Sendable {
  // Unchecked: there is no other thread.
  private var jobs: [UnownedJob] = []
  private var isDone = false

  init() { jobs.reserveCapacity(16) }

  func enqueue(_ job: consuming ExecutorJob) { jobs.append(UnownedJob(job)) }

  /// Runs the body to its end.
  func run(_ body: @escaping @Sendable () async -> Void) {
    isDone = false
    Task(executorPreference: self) {
      await body()
      self.isDone = true
    }
    while !isDone {
      precondition(!jobs.isEmpty, "the code went on elsewhere")
      jobs.removeFirst().runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  /// Runs the body to its end, and counts its cost.
  func count(_ body: @escaping @Sendable () async -> Void) {
    let call = CountedCall(thread: self, body: body)
    counted_part(
      { context in
        guard let context else { return }
        let call = Unmanaged<CountedCall>.fromOpaque(context).takeRetainedValue()
        call.thread.run(call.body)
      },
      Unmanaged.passRetained(call).toOpaque()
    )
  }
}

private final class CountedCall {
  let thread: SingleThread
  let body: @Sendable () async -> Void

  init(thread: SingleThread, body: @escaping @Sendable () async -> Void) {
    self.thread = thread
    self.body = body
  }
}
