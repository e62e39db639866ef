internal import CEpoll
import Glibc
import Synchronization

/// The open streams of a server, and the choice of which to end when the limit is reached.
final class EventStreamRegistry: Sendable {
  private let limit: Int
  private let state = Mutex(State())

  private struct State {
    var entries: [UInt64: Entry] = [:]
    /// The number of streams by address group, without those that must end.
    var counts = AddressCounts()
    /// The number of streams that must end.
    var endingCount = 0
    var nextNumber: UInt64 = 1
    var isStopping = false
  }

  private struct Entry {
    let stream: EventStream
    /// The client's address group.
    let address: String
    /// Whether it must end in favour of another one.
    var isEnding = false
  }

  /// The maximum number of streams above the limit, which must end.
  private static let reserve = 64

  init(limit: Int) {
    self.limit = limit
  }

  /// Creates a stream and adds it. At the limit, the address with the most streams makes room for one with fewer: its
  /// oldest stream must end. O(n) for n streams then.
  ///
  /// - Parameters:
  ///   - address: the client's address group.
  ///   - make: receives the stream's number, which is never 0.
  /// - Returns: the stream, and the one that the caller must end for it; nil if the limit is reached, or the server is
  ///   stopping.
  func add(
    from address: String,
    _ make: (UInt64) -> EventStream
  ) -> (added: EventStream, evicted: EventStream?)? {
    state.withLock { state in
      guard !state.isStopping else { return nil }
      var evicted: EventStream?
      if state.entries.count - state.endingCount >= limit {
        guard state.endingCount < Self.reserve, let number = Self.oldestOfBusiest(state, for: address),
          let entry = state.entries[number]
        else { return nil }
        evicted = entry.stream
        state.entries[number]?.isEnding = true
        state.endingCount += 1
        state.counts.remove(entry.address)
      }
      let stream = make(state.nextNumber)
      state.entries[state.nextNumber] = Entry(stream: stream, address: address)
      state.counts.add(address)
      state.nextNumber += 1
      return (stream, evicted)
    }
  }

  private static func oldestOfBusiest(_ state: State, for address: String) -> UInt64? {
    state.entries.filter { !$0.value.isEnding && state.counts.mustYield($0.value.address, to: address) }
      .min { (-state.counts[$0.value.address], $0.key) < (-state.counts[$1.value.address], $1.key) }?.key
  }

  func remove(_ stream: EventStream) {
    state.withLock { state in
      guard let entry = state.entries.removeValue(forKey: stream.number) else { return }
      if entry.isEnding { state.endingCount -= 1 } else { state.counts.remove(entry.address) }
    }
  }

  var count: Int {
    state.withLock(\.entries.count)
  }

  func stream(_ number: UInt64) -> EventStream? {
    state.withLock { $0.entries[number]?.stream }
  }

  var all: [EventStream] {
    state.withLock { $0.entries.values.map(\.stream) }
  }

  /// Accepts no more streams.
  ///
  /// - Returns: the open streams.
  func stop() -> [EventStream] {
    state.withLock { state in
      state.isStopping = true
      return state.entries.values.map(\.stream)
    }
  }
}

/// A thread that detects when clients of suspended connections disconnect, which libmicrohttpd does not, and calls a
/// periodic tick. A server has one for all its streams.
final class EventStreamWatcher: Sendable {
  private let epoll: Int32
  /// Becomes readable when the thread must end.
  private let ending: Int32
  private let tickMilliseconds: Int
  private let onHangUp: @Sendable (UInt64) -> Void
  private let onTick: @Sendable () -> Void
  // Written only in init.
  nonisolated(unsafe) private var thread: SystemThread?

  /// No stream has this number.
  private static let endingNumber: UInt64 = 0

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - tickMilliseconds: the interval between two calls of `onTick`.
  ///   - onHangUp: called on the thread with the number of a stream whose client has disconnected.
  ///   - onTick: called on the thread.
  /// - Throws: ``HTTPServerError`` if no descriptor is available.
  init(
    tickMilliseconds: Int,
    onHangUp: @escaping @Sendable (UInt64) -> Void,
    onTick: @escaping @Sendable () -> Void
  ) throws(HTTPServerError) {
    self.tickMilliseconds = tickMilliseconds
    self.onHangUp = onHangUp
    self.onTick = onTick
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    ending = eventfd(0, Int32(EFD_CLOEXEC))
    guard epoll >= 0, ending >= 0, feedstore_epoll_watch_input(epoll, ending, Self.endingNumber) == 0 else {
      // `deinit` closes the descriptors.
      let reason = String(cString: strerror(errno))
      throw HTTPServerError(
        .system,
        "cannot watch connections: \(reason); allow the process more open files (LimitNOFILE, ulimit -n)"
      )
    }
    // The thread holds a reference until it ends.
    thread = SystemThread("http-streams") { self.run() }
    precondition(thread != nil, "cannot start the thread http-streams")
  }

  deinit {
    if epoll >= 0 { Glibc.close(epoll) }
    if ending >= 0 { Glibc.close(ending) }
  }

  /// Watches a socket until it or its peer is closed. If that fails, heartbeats detect the client's end.
  ///
  /// - Parameter number: the stream's number, not 0.
  func watch(_ descriptor: Int32, number: UInt64) {
    _ = feedstore_epoll_watch_end(epoll, descriptor, number)
  }

  /// Stops watching a socket, which must still be open.
  func forget(_ descriptor: Int32) {
    _ = epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil)
  }

  /// Ends the thread and waits for it. Call it once.
  func stop() {
    var one: UInt64 = 1
    _ = write(ending, &one, MemoryLayout<UInt64>.size)
    thread?.join()
  }

  private func run() {
    var numbers = [UInt64](repeating: 0, count: 64)
    var due = MonotonicClock.milliseconds() + Int64(tickMilliseconds)
    while true {
      let wait = max(0, due - MonotonicClock.milliseconds())
      let count = feedstore_epoll_wait(epoll, &numbers, Int32(numbers.count), Int32(clamping: wait))
      for number in numbers.prefix(Int(max(0, count))) {
        if number == Self.endingNumber { return }
        onHangUp(number)
      }
      guard MonotonicClock.milliseconds() >= due else { continue }
      onTick()
      due = MonotonicClock.milliseconds() + Int64(tickMilliseconds)
    }
  }
}
