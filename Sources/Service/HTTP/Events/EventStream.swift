internal import CMicrohttpd
import Synchronization

/// One client's endless answer, to which messages are written.
///
/// Everything here can be called from any thread, and nothing waits for the client: what it has not taken yet
/// is queued, up to a bound in bytes (``HTTPServerConfiguration/maxStreamQueueBytes``). A client that reads
/// slowly, or not at all, costs its queue and its socket, but no thread, and nobody's time.
///
/// While there is nothing to send, the connection is *suspended*: libmicrohttpd forgets it until it is resumed.
public final class EventStream: Sendable {
  /// Tells this stream from all others of its server.
  let number: UInt64
  private let counters: HTTPCounterStore
  private let state: Mutex<State>

  private struct Connection: @unchecked Sendable {
    // Unchecked: libmicrohttpd lets any thread resume it.
    let pointer: OpaquePointer
  }

  private struct State {
    var queue: EventQueue
    /// Set once, when nothing more is taken.
    var end: EventStreamEnd?
    /// Whether what is queued is still sent after the end.
    var isFlushed = true
    /// Nil before the answer begins, and after libmicrohttpd is done with it.
    var connection: Connection?
    var isSuspended = false
    /// Ticks since anything was sent.
    var silentTicks = 0
    /// Called once, when nothing waits any more.
    var onDrained: (@Sendable () -> Void)?
    var onEnd: [@Sendable (EventStreamEnd) -> Void] = []
  }

  init(number: UInt64, queueLimit: Int, retryMilliseconds: Int, counters: HTTPCounterStore) {
    self.number = number
    self.counters = counters
    var queue = EventQueue(limit: queueLimit)
    // Something is sent at once, so that the client sees the answer's head, and knows that it is connected.
    _ = queue.append(.retry(milliseconds: retryMilliseconds))
    state = Mutex(State(queue: queue))
  }

  /// Queues a message.
  public func write(_ event: EncodedEvent) -> EventStreamWrite {
    let result: EventStreamWrite = state.withLock { state in
      guard state.end == nil else { return .closed }
      guard state.queue.append(event) else { return .full }
      Self.resume(&state)
      return .queued
    }
    counters.countWrite(result)
    return result
  }

  /// Puts a message in the place of those that wait, whatever its length: what the client has begun to
  /// receive it receives to its end, then this message.
  ///
  /// - Returns: `queued` or `closed`, never `full`.
  @discardableResult
  public func replaceQueued(with event: EncodedEvent) -> EventStreamWrite {
    let result: EventStreamWrite = state.withLock { state in
      guard state.end == nil else { return .closed }
      state.queue.replaceAll(with: event)
      Self.resume(&state)
      return .queued
    }
    counters.countWrite(result)
    return result
  }

  /// Asks to be told, once, when the client has taken all that waits now and nothing else was queued meanwhile;
  /// who was asking before is forgotten. It is never told if the stream ends before that.
  ///
  /// A writer whose message was refused (`full`) can wait for this, and then write what is true by then.
  ///
  /// - Parameter body: Called on one of the server's threads: it must not block. It may write to the stream.
  /// - Returns: False if nothing waits: then it is not called, and the caller can write at once.
  public func notifyWhenDrained(_ body: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      guard state.end == nil, !state.queue.isEmpty else { return false }
      state.onDrained = body
      return true
    }
  }

  /// Ends the stream once the client has received what is queued. The client then comes again, unless it is
  /// told not to.
  public func close() {
    end(.closed, isFlushed: true)
  }

  /// Ends the stream at once, in the middle of a message if need be: what is queued is let go. The client comes again.
  public func cut() {
    end(.closed, isFlushed: false)
  }

  /// Why the stream takes no more; nil while it does.
  public var ended: EventStreamEnd? {
    state.withLock(\.end)
  }

  /// Bytes that wait to be sent.
  public var queuedBytes: Int {
    state.withLock(\.queue.byteCount)
  }

  /// Asks to be told, once, when the stream takes no more; at once if that is so already.
  ///
  /// - Parameter body: Called on the thread that ends the stream, which may be one of the server's or the
  ///   caller of ``close()``: it must not block.
  public func onEnd(_ body: @escaping @Sendable (EventStreamEnd) -> Void) {
    let end = state.withLock { state -> EventStreamEnd? in
      if state.end == nil { state.onEnd.append(body) }
      return state.end
    }
    if let end { body(end) }
  }

  /// Ends the stream, if it has not ended yet.
  ///
  /// - Parameter isFlushed: Whether the client still gets what is queued.
  func end(_ end: EventStreamEnd, isFlushed: Bool) {
    let listeners = state.withLock { state -> [@Sendable (EventStreamEnd) -> Void] in
      if !isFlushed {
        state.isFlushed = false
        state.queue.removeAll()
      }
      Self.resume(&state)
      guard state.end == nil else { return [] }
      state.end = end
      state.onDrained = nil
      defer { state.onEnd = [] }
      return state.onEnd
    }
    for listener in listeners { listener(end) }
  }

  /// How many ticks a stream may be silent: one less at least has gone by then, and never more.
  static let ticksOfSilence = 4

  /// Queues a comment if nothing was sent for some ticks and nothing waits: the connection stays known to be alive
  /// to whatever lies between, and a client that is gone is noticed.
  func tick() {
    state.withLock { state in
      state.silentTicks += 1
      guard state.end == nil, state.silentTicks >= Self.ticksOfSilence, state.queue.isEmpty else { return }
      _ = state.queue.append(.heartbeat)
      Self.resume(&state)
    }
  }

  /// Says on which connection the answer goes, before libmicrohttpd asks for its first byte.
  func attach(_ connection: OpaquePointer) {
    let connection = Connection(pointer: connection)
    state.withLock { $0.connection = connection }
  }

  /// For libmicrohttpd, on its thread: the answer's next bytes. Without any, the connection is suspended.
  ///
  /// - Returns: How many were written, or one of `MHD_CONTENT_READER_END_…`.
  func take(into target: UnsafeMutableRawBufferPointer) -> Int {
    while true {
      let taken = state.withLock { state -> Taken in
        let count = state.queue.take(into: target)
        guard count == 0 else {
          state.silentTicks = 0
          return .answer(count)
        }
        if let onDrained = state.onDrained.take() { return .drained(onDrained) }
        guard state.end == nil else {
          // -1: a proper end; -2: the connection is closed in the middle.
          return .answer(state.isFlushed ? -1 : -2)
        }
        guard let connection = state.connection else { return .answer(-2) }
        // Under the lock: a writer must either be seen above, or find the connection suspended.
        MHD_suspend_connection(connection.pointer)
        state.isSuspended = true
        return .answer(0)
      }
      switch taken {
      case .answer(let count):
        if count > 0 { counters.countBytes(count) }
        return count
      // Not under the lock, as it may write. What it has written is taken in the next round.
      case .drained(let body): body()
      }
    }
  }

  private enum Taken {
    case answer(Int)
    case drained(@Sendable () -> Void)
  }

  /// For libmicrohttpd, on its thread: the answer is over and the connection not to be touched any more.
  func detach() {
    state.withLock { state in
      state.connection = nil
      state.isSuspended = false
    }
    end(.clientGone, isFlushed: false)
  }

  /// Lets libmicrohttpd ask again. Resuming a connection that is not suspended is not allowed.
  private static func resume(_ state: inout State) {
    guard state.isSuspended, let connection = state.connection else { return }
    state.isSuspended = false
    MHD_resume_connection(connection.pointer)
  }
}
