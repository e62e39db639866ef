import Glibc

/// Counts active requests, and can wait until there are none.
final class HTTPExchangeCount: @unchecked Sendable {
  // Unchecked: `count` is accessed only while `mutex` is held.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var count = 0

  init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    condition = .allocate(capacity: 1)
    condition.initialize(to: pthread_cond_t())
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    // Deadlines are given on this clock.
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  func begin() {
    pthread_mutex_lock(mutex)
    count += 1
    pthread_mutex_unlock(mutex)
  }

  func end() {
    pthread_mutex_lock(mutex)
    count -= 1
    if count == 0 { pthread_cond_broadcast(condition) }
    pthread_mutex_unlock(mutex)
  }

  /// Blocks until no request is active.
  ///
  /// - Parameter deadline: when to give up, in milliseconds of ``MonotonicClock``.
  /// - Returns: whether no request is active.
  func waitForNone(until deadline: Int64) -> Bool {
    var time = timespec(tv_sec: Int(deadline / 1000), tv_nsec: Int(deadline % 1000) * 1_000_000)
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while count > 0 {
      guard pthread_cond_timedwait(condition, mutex, &time) == 0 else { return count == 0 }
    }
    return true
  }
}
