internal import CEpoll
import Glibc
import OperatingSystem
import Synchronization

/// A thread that waits for events of sockets, and calls a periodic tick.
final class EpollThread: @unchecked Sendable {
  // Unchecked: `thread` is written only in `start`, before another thread has this object.
  /// The epoll descriptor.
  let descriptor: Int32
  /// Becomes readable when the thread must wake up or end.
  private let waking: Int32
  private let isEnding = Atomic(false)
  private let name: String
  private var thread: SystemThread?

  private static let wakingNumber = UInt64.max

  /// Opens the descriptors.
  ///
  /// - Parameter name: the thread's name.
  /// - Throws: ``HTTPServerError`` if no descriptor is available.
  init(_ name: String) throws(HTTPServerError) {
    self.name = name
    descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
    waking = eventfd(0, Int32(EFD_CLOEXEC))
    guard descriptor >= 0, waking >= 0,
      feedstore_epoll_watch_input(descriptor, waking, Self.wakingNumber) == 0
    else { throw Self.noDescriptors }
  }

  /// The error for the current `errno`; `deinit` closes the descriptors.
  static var noDescriptors: HTTPServerError {
    let reason = String(cString: strerror(errno))
    return HTTPServerError(
      .system,
      "cannot watch connections: \(reason); allow the process more open files (LimitNOFILE, ulimit -n)"
    )
  }

  deinit {
    if descriptor >= 0 { Glibc.close(descriptor) }
    if waking >= 0 { Glibc.close(waking) }
  }

  /// Starts the thread. Call it once.
  ///
  /// - Parameters:
  ///   - tickMilliseconds: the interval between two calls of `onTick`.
  ///   - isQuiet: whether no periodic checks are due.
  ///   - onEvent: called on the thread with the number of a socket with an event.
  ///   - onWake: called on the thread after one or more calls of ``wake()``.
  ///   - onTick: called on the thread.
  func start(
    tickMilliseconds: Int64,
    isQuiet: @escaping @Sendable () -> Bool = { false },
    onEvent: @escaping @Sendable (UInt64) -> Void,
    onWake: @escaping @Sendable () -> Void = {},
    onTick: @escaping @Sendable () -> Void
  ) {
    // It is joined before this object is released.
    thread = SystemThread(name) { [descriptor, waking, unowned self] in
      var numbers = [UInt64](repeating: 0, count: 64)
      var due = MonotonicClock.milliseconds() + tickMilliseconds
      while true {
        let wait = isQuiet() ? -1 : max(0, due - MonotonicClock.milliseconds())
        let count = feedstore_epoll_wait(descriptor, &numbers, Int32(numbers.count), Int32(clamping: wait))
        for number in numbers.prefix(Int(max(0, count))) {
          guard number == Self.wakingNumber else {
            onEvent(number)
            continue
          }
          if isEnding.load(ordering: .acquiring) { return }
          var wakes: UInt64 = 0
          _ = read(waking, &wakes, MemoryLayout<UInt64>.size)
          onWake()
        }
        guard MonotonicClock.milliseconds() >= due else { continue }
        onTick()
        due = MonotonicClock.milliseconds() + tickMilliseconds
      }
    }
    precondition(thread != nil, "cannot start the thread \(name)")
  }

  /// Reports a number once when a socket's peer ends, and if `alsoRoom`, whenever a full socket has room again. If that
  /// fails, heartbeats detect the end.
  func watchEnd(_ socket: Int32, number: UInt64, alsoRoom: Bool) {
    _ = feedstore_epoll_watch_end(descriptor, socket, number, alsoRoom ? 1 : 0)
  }

  /// Reports a number while a socket has input.
  ///
  /// - Returns: whether it succeeded.
  func watchInput(_ socket: Int32, number: UInt64) -> Bool {
    feedstore_epoll_watch_input(descriptor, socket, number) == 0
  }

  /// Reports a number whenever a socket has new input, or its peer ends.
  func watchNews(_ socket: Int32, number: UInt64) -> Bool {
    feedstore_epoll_watch_news(descriptor, socket, number) == 0
  }

  /// Stops watching a socket, which must still be open.
  func forget(_ socket: Int32) { _ = epoll_ctl(descriptor, EPOLL_CTL_DEL, socket, nil) }

  /// Makes the thread call `onWake` soon.
  func wake() {
    var one: UInt64 = 1
    _ = write(waking, &one, MemoryLayout<UInt64>.size)
  }

  /// Ends the thread and waits for it. Call it once.
  func stop() {
    isEnding.store(true, ordering: .releasing)
    wake()
    thread?.join()
  }
}
