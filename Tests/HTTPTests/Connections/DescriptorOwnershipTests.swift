import Glibc
import HTTPTestSupport
import Testing

@testable import HTTP
@testable import OperatingSystem

/// If an initializer fails, it must close its descriptors exactly once: after that, their numbers may be reused.
@Suite struct DescriptorOwnershipTests {
  @Test func `a refused connection is closed once`() async {
    await #expect(processExitsWith: .success) {
      let other = DescriptorUser()
      for _ in 0..<20_000 {
        // Nothing listens there.
        guard (try? HTTPTestClient(port: 1)) == nil else { exit(2) }
      }
      other.stop()
    }
  }

  @Test func `a watcher that runs out of descriptors closes its own once`() async {
    await #expect(processExitsWith: .success) {
      // One more descriptor, for the first that needs one; a watcher needs two.
      let free = dup(0)
      close(free)
      var limit = rlimit(rlim_cur: rlim_t(free) + 1, rlim_max: rlim_t(free) + 1)
      guard setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { exit(3) }
      let other = DescriptorUser()
      var failures = 0
      // It succeeds whenever another thread has just closed a descriptor.
      for _ in 0..<20_000 {
        if let watcher = try? EpollThread("test") {
          watcher.stop()
        } else {
          failures += 1
        }
      }
      other.stop()
      guard failures > 0 else { exit(2) }
    }
  }
}

/// A thread that repeatedly opens and closes a descriptor, and ends the process if another thread has closed it.
private final class DescriptorUser: Sendable {
  private let worker = WorkerThread(name: "other")
  private let task: Task<Void, Never>

  init() {
    task = Task(executorPreference: worker) {
      while !Task.isCancelled {
        let descriptor = dup(0)
        sched_yield()
        if descriptor >= 0, close(descriptor) != 0 { exit(1) }
      }
    }
  }

  func stop() {
    task.cancel()
    worker.stop()
  }
}
