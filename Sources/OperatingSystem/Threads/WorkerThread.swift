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
  private var thread: SystemThread?

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

    // The thread holds a reference to the worker until it ends.
    thread = SystemThread(name, stackSize: stackSize) { self.run() }
    precondition(thread != nil, "cannot start thread \(name): \(String(cString: strerror(errno)))")
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Whether the caller runs on this thread.
  package var isCurrent: Bool {
    thread?.isCurrent == true
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
    if isFirst { thread?.join() }
  }

  private func run() {
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
