import Glibc

/// One thread that runs tasks: a task executor over a dedicated pthread.
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
/// A worker's task is pinned so that the default actors it calls run on the same thread, without waking another,
/// and so that blocking calls of a C library hold up this thread and not the cooperative pool. Jobs run in the
/// order in which they were enqueued. Each crossing of isolation is still a job in the queue, about half a
/// microsecond: cross once a batch, not once a record.
///
/// What is *not* pinned: code isolated to the main actor or to an actor with an executor of its own, and
/// unstructured tasks (`Task { }`, `Task.detached`), which do not inherit the preference. While a job blocks
/// the thread, every other task that prefers it waits.
///
/// The thread lives until ``stop()``; a worker that is never stopped is never freed.
public final class WorkerThread: TaskExecutor, @unchecked Sendable {
  /// The thread's name, cut to the 15 bytes that Linux allows.
  public let name: String
  // Unchecked: `jobs` and `isStopping` are touched only while `mutex` is held; `thread` is written once, in init.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var jobs: [UnownedJob] = []
  private var isStopping = false
  private var isStopped = false
  private var thread = pthread_t()

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - name: Shown by debuggers and `top -H`.
  ///   - stackSize: In bytes, reserved and not yet used; the system's threads have 8 MiB as well.
  public init(name: String, stackSize: Int = 8 << 20) {
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
    // The thread owns a reference to the worker until it ends.
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
  public var isCurrent: Bool {
    pthread_equal(pthread_self(), thread) != 0
  }

  /// For the runtime: runs a job on the thread, after those enqueued before it.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    precondition(!isStopped, "a task still prefers thread \(name), which has been stopped")
    jobs.append(job)
    if jobs.count == 1 { pthread_cond_signal(condition) }
  }

  /// Ends the thread once all jobs enqueued are run, those included that they enqueue, and waits for it.
  ///
  /// Call it when the tasks that prefer the thread have ended: a job that comes later has nowhere to run, and
  /// stops the process. It blocks; it must not be called on the thread itself. A second call does nothing.
  public func stop() {
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

  /// Waits for jobs and takes them all, leaving the emptied array for the next ones.
  ///
  /// - Returns: False when there are none and there will be none.
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

/// The thread's entry. A free function: a closure that C calls must not inherit anybody's isolation.
private func workerThreadMain(_ owner: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let owner else { return nil }
  Unmanaged<WorkerThread>.fromOpaque(owner).takeRetainedValue().run()
  return nil
}
