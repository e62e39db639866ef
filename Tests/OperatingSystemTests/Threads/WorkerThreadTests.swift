import FeedTestSupport
import Glibc
import OperatingSystem
import Synchronization
import Testing

@Suite struct WorkerThreadTests {
  private actor Counter {
    private(set) var count = 0

    /// Increments the count, and returns the thread that runs it.
    func increment() -> pthread_t {
      count += 1
      return pthread_self()
    }
  }

  @concurrent private func currentThread() async -> pthread_t {
    pthread_self()
  }

  @Test func `a task runs only on the thread`() async {
    let worker = WorkerThread(name: "worker")
    #expect(!worker.isCurrent)
    let threads = await withTaskExecutorPreference(worker) { @concurrent in
      #expect(worker.isCurrent)
      let first = pthread_self()
      await Task.yield()
      return await [first, pthread_self(), currentThread()]
    }
    #expect(Set(threads).count == 1)
    #expect(threads.first != pthread_self())
    worker.stop()
  }

  @Test func `a default actor stays on the thread that calls it`() async {
    let worker = WorkerThread(name: "worker")
    let counter = Counter()
    await withTaskExecutorPreference(worker) { @concurrent in
      let thread = pthread_self()
      for _ in 0..<1000 {
        let actorThread = await counter.increment()
        guard actorThread == thread, worker.isCurrent else {
          Issue.record("the actor ran on another thread")
          return
        }
      }
    }
    #expect(await counter.count == 1000)
    worker.stop()
  }

  @Test func `two workers have two threads`() async {
    let first = WorkerThread(name: "first")
    let second = WorkerThread(name: "second")
    async let firstThread = withTaskExecutorPreference(first) { @concurrent in pthread_self() }
    async let secondThread = withTaskExecutorPreference(second) { @concurrent in pthread_self() }
    #expect(await firstThread != secondThread)
    first.stop()
    second.stop()
  }

  @Test func `many tasks all complete`() async {
    let worker = WorkerThread(name: "worker")
    let counter = Counter()
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<10_000 {
        group.addTask(executorPreference: worker) {
          await Task.yield()
          _ = await counter.increment()
          return worker.isCurrent
        }
      }
      for await isOnThread in group where !isOnThread { Issue.record("a task ran on another thread") }
    }
    #expect(await counter.count == 10_000)
    worker.stop()
  }

  @Test func `stopping first runs enqueued jobs`() async {
    let worker = WorkerThread(name: "worker")
    let done = SharedCount()
    // The first job blocks the thread until all others are enqueued and the stop has begun.
    let gate = BlockingFlag()
    var tasks = [Task(executorPreference: worker) { gate.wait() }]
    for _ in 0..<100 {
      tasks.append(Task(executorPreference: worker) { done.increment() })
    }
    #expect(done.value == 0)
    gate.set()
    worker.stop()
    #expect(done.value == 100)
    for task in tasks { await task.value }
    worker.stop()
  }

  @Test func `the thread has its name`() async throws {
    let worker = WorkerThread(name: "a-name-longer-than-15-bytes")
    #expect(worker.name == "a-name-longer-t")
    let name = await withTaskExecutorPreference(worker) { @concurrent in readThreadName() }
    #expect(name == "a-name-longer-t\n")
    worker.stop()
  }

  @Test func `the stack has the requested size`() async {
    let worker = WorkerThread(name: "worker", stackSize: 32 << 20)
    // Uses 16 MiB of the stack: more than the default.
    let depth = await withTaskExecutorPreference(worker) { @concurrent in descend(levels: 1024) }
    #expect(depth == 1024)
    worker.stop()
  }

  @Test func `a task after the end stops the process`() async {
    await #expect(processExitsWith: .failure) {
      let worker = WorkerThread(name: "worker")
      worker.stop()
      await withTaskExecutorPreference(worker) { @concurrent in }
    }
  }
}

/// A count for nonisolated jobs.
private final class SharedCount: Sendable {
  private let count = Atomic(0)

  var value: Int { count.load(ordering: .acquiring) }

  func increment() {
    count.add(1, ordering: .acquiringAndReleasing)
  }
}

/// The name of the thread, from the kernel.
private func readThreadName() -> String {
  guard let file = fopen("/proc/thread-self/comm", "r") else { return "" }
  defer { fclose(file) }
  var bytes = [UInt8](repeating: 0, count: 64)
  let count = fread(&bytes, 1, bytes.count, file)
  return String(decoding: bytes[..<count], as: UTF8.self)
}

/// Uses 16 KiB of the stack per level.
@inline(never)
private func descend(levels: Int) -> Int {
  withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 16) { bytes in
    bytes.initializeMemory(as: UInt8.self, repeating: UInt8(truncatingIfNeeded: levels))
    guard levels > 1 else { return 1 }
    return descend(levels: levels - 1) + (bytes[0] == UInt8(truncatingIfNeeded: levels) ? 1 : 0)
  }
}
