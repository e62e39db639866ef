import Glibc

/// A task executor that runs tasks on one dedicated thread.
///
/// ```swift
/// let worker = WorkerThread(name: "worker-0")
/// defer { worker.stop() }
/// await withTaskExecutorPreference(worker) {
///   // Runs on the thread, as do the nonisolated functions and the default actors it calls.
///   await store.apply(batch)
/// }
/// ```
///
/// Tasks are pinned so that the default actors they call run on the same thread, without waking another one, and so
/// that blocking calls of a C library block this thread instead of the cooperative pool. Jobs run in the order in which
/// they were enqueued. Each isolation crossing is still a job in the queue, about half a microsecond: cross once per
/// batch, not once per record.
///
/// *Not* pinned: code isolated to the main actor or to an actor with its own executor, and unstructured tasks (`Task {
/// }`, `Task.detached`), which do not inherit the preference. While a job blocks the thread, every other task that
/// prefers it waits.
///
/// The thread lives until ``stop()``; a worker that is never stopped is never released.
package final class WorkerThread: TaskExecutor, @unchecked Sendable {
  /// The thread's name, truncated to the 15 bytes that Linux allows.
  package let name: String
  // Unchecked: `jobs` and `isStopping` are accessed only while `mutex` is held; `thread` is written only in init.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var jobs: [UnownedJob] = []
  private var isStopping = false
  private var isStopped = false
  private var thread = pthread_t()

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - name: the name in debuggers and `top -H`.
  ///   - stackSize: in bytes, reserved but not committed; the default is that of the system's threads.
  package init(name: String, stackSize: Int = 8 << 20) {
    self.name = String(decoding: name.utf8.prefix(15), as: UTF8.self)
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    condition = .allocate(capacity: 1)
    condition.initialize(to: pthread_cond_t())
    pthread_cond_init(condition, nil)

    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    let isSized = pthread_attr_setstacksize(&attributes, stackSize)
    precondition(isSized == 0, "a stack of \(stackSize) bytes is too small or not possible")
    // The thread holds a reference to the worker until it ends.
    let owner = Unmanaged.passRetained(self).toOpaque()
    let result = pthread_create(&thread, &attributes, { @Sendable in workerThreadMain($0) }, owner)
    precondition(result == 0, "cannot start thread \(name): \(String(cString: strerror(result)))")
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Whether the caller runs on this thread.
  package var isCurrent: Bool {
    pthread_equal(pthread_self(), thread) != 0
  }

  /// For the runtime: runs a job on the thread, after those enqueued before it.
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    precondition(!isStopped, "a task still prefers thread \(name), which has been stopped")
    jobs.append(job)
    if jobs.count == 1 { pthread_cond_signal(condition) }
  }

  /// Ends the thread after all enqueued jobs, including those that they enqueue, and waits for it.
  ///
  /// Call it after the tasks that prefer the thread have ended: a later job cannot run, and ends the process. It
  /// blocks; do not call it on the thread itself. A second call does nothing.
  package func stop() {
    precondition(!isCurrent, "thread \(name) cannot wait for its own end")
    pthread_mutex_lock(mutex)
    let isFirst = !isStopping
    isStopping = true
    pthread_cond_signal(condition)
    pthread_mutex_unlock(mutex)
    if isFirst { pthread_join(thread, nil) }
  }

  fileprivate func run() {
    ThreadName.set(name)
    let executor = asUnownedTaskExecutor()
    var batch: [UnownedJob] = []
    while takeJobs(&batch) {
      for job in batch { job.runSynchronously(on: executor) }
    }
  }

  /// Waits for jobs and takes all of them, leaving the emptied array for the next ones.
  ///
  /// - Returns: false if there are no more jobs and the thread must end.
  private func takeJobs(_ batch: inout [UnownedJob]) -> Bool {
    batch.removeAll(keepingCapacity: true)
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while jobs.isEmpty, !isStopping { pthread_cond_wait(condition, mutex) }
    swap(&batch, &jobs)
    isStopped = batch.isEmpty
    return !isStopped
  }
}

/// The thread's entry point. A free function: a closure that C calls must not inherit actor isolation.
private func workerThreadMain(_ owner: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let owner else { return nil }
  Unmanaged<WorkerThread>.fromOpaque(owner).takeRetainedValue().run()
  return nil
}

/// A detached thread that runs one blocking function.
package enum BackgroundThread {
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
  package static func start(name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
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

/// Names threads for debuggers and `top -H`.
enum ThreadName {
  /// Names the calling thread.
  ///
  /// `pthread_setname_np` is a GNU extension that Swift does not import, and `prctl` is variadic, so the name is
  /// written to a file in `/proc`. Errors are ignored.
  ///
  /// - Parameter name: at most 15 bytes; the kernel truncates longer names.
  static func set(_ name: String) {
    let descriptor = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let bytes = Array(name.utf8.prefix(15))
    _ = write(descriptor, bytes, bytes.count)
  }
}
