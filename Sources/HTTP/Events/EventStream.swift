internal import CEpoll
internal import CMicrohttpd
import Glibc
import OperatingSystem
import Synchronization

/// A client's streaming response, to which messages are written.
///
/// All methods can be called from any thread, and none waits for the client: unsent messages are queued, up to a limit
/// in bytes (``HTTPServerConfiguration/maxStreamQueueBytes``). A slow or stalled client costs its queue and its socket,
/// but does not block a thread.
///
/// While there is nothing to send, the connection is *suspended*: libmicrohttpd ignores it until it is resumed. With an
/// ``EventOutlet``, it is suspended from the second message to the end.
package final class EventStream: Sendable {
  /// Identifies this stream within its server.
  let number: UInt64
  /// The client's rights by the token with which it opened the stream.
  package let rights: AccessRights
  private let counters: HTTPCounterStore
  private let state: Mutex<State>

  private struct Connection: @unchecked Sendable {
    // Unchecked: libmicrohttpd allows any thread to resume it.
    let pointer: OpaquePointer
  }

  private struct State {
    var queue: EventQueue
    /// Set once, when the stream stops accepting messages.
    var hasEnded = false
    /// Whether queued messages are still sent after the end.
    var isFlushed = true
    /// nil before the response begins, and after libmicrohttpd has finished with it.
    var connection: Connection?
    var isSuspended = false
    /// The outlet that sends messages without libmicrohttpd; nil if libmicrohttpd sends all of them.
    var outlet: EventOutlet?
    /// Whether libmicrohttpd has received the first bytes.
    var hasBegun = false
    /// Whether the sender is about to send.
    var isAdded = false
    /// Ticks since the last message.
    var silentTicks = 0
    /// Called once, when the queue is empty.
    var onDrained: (@Sendable () -> Void)?
    var onEnd: [@Sendable () -> Void] = []
  }

  init(
    number: UInt64,
    queueLimit: Int,
    retryMilliseconds: Int,
    counters: HTTPCounterStore,
    rights: AccessRights = .all
  ) {
    self.number = number
    self.rights = rights
    self.counters = counters
    var queue = EventQueue(limit: queueLimit)
    // Sent at once, so that the client receives the response's head and detects the connection.
    _ = queue.append(.retry(milliseconds: retryMilliseconds))
    state = Mutex(State(queue: queue))
  }

  /// Queues messages in order, up to the first that does not fit. The client receives them together if it has read the
  /// queue before.
  package func write(_ events: EncodedEvent..., isBounded: Bool = true) -> EventStreamWrite {
    write(events, isBounded: isBounded)
  }

  /// Queues messages in order, up to the first that does not fit.
  ///
  /// - Parameter isBounded: whether they must fit. Unbounded ones count against later messages until they are sent.
  package func write(_ events: [EncodedEvent], isBounded: Bool = true) -> EventStreamWrite {
    change(events.count) { queue in events.allSatisfy { queue.append($0, isBounded: isBounded) } }
  }

  /// Queues a message of any size. Neither it nor the messages before it count against the limit for later ones.
  @discardableResult
  package func writeExempt(_ event: EncodedEvent) -> EventStreamWrite {
    change(1) { queue in
      queue.appendExempt(event)
      return true
    }
  }

  /// Replaces all queued messages by one of any size. The client still receives the rest of a message that it has
  /// partially received, then this one.
  ///
  /// - Returns: `queued` or `closed`, never `full`.
  @discardableResult
  package func replaceQueued(with event: EncodedEvent) -> EventStreamWrite {
    change(1) { queue in
      queue.replaceAll(with: event)
      return true
    }
  }

  /// - Parameters:
  ///   - count: the number of messages.
  ///   - change: changes the queue, and returns whether that succeeded.
  private func change(_ count: Int, _ change: (inout EventQueue) -> Bool) -> EventStreamWrite {
    let result: EventStreamWrite = state.withLock { state in
      guard !state.hasEnded else { return .closed }
      let isDone = change(&state.queue)
      proceed(&state)
      return isDone ? .queued : .full
    }
    counters.count(count, result)
    return result
  }

  /// Requests one callback when the client has received the whole queue and no other message was queued
  /// meanwhile. It replaces an earlier request. If the stream ends first, there is no callback.
  ///
  /// A writer whose message was rejected (`full`) can wait for this, and then write the current state.
  ///
  /// - Parameter body: called on one of the server's threads; it must not block. It may write to the stream.
  /// - Returns: false if nothing is queued: then `body` is not called, and the caller can write at once.
  package func notifyWhenDrained(_ body: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      guard !state.hasEnded, !state.queue.isEmpty else { return false }
      state.onDrained = body
      return true
    }
  }

  /// Ends the stream after the client has received the queue. The client then reconnects, unless forbidden.
  package func close() { end(isFlushed: true) }

  /// Ends the stream at once, even within a message, and drops the queue. The client reconnects.
  package func cut() { end(isFlushed: false) }

  /// Whether the stream accepts no more messages.
  var hasEnded: Bool { state.withLock(\.hasEnded) }

  package var queuedBytes: Int { state.withLock(\.queue.byteCount) }

  /// Requests one callback when the stream ends; at once if it has ended.
  ///
  /// - Parameter body: called on the thread that ends the stream, which may be one of the server's or the caller of
  ///   ``close()``. It must not block.
  package func onEnd(_ body: @escaping @Sendable () -> Void) {
    let hasEnded = state.withLock { state in
      if !state.hasEnded { state.onEnd.append(body) }
      return state.hasEnded
    }
    if hasEnded { body() }
  }

  /// Ends the stream, unless it has ended. `isFlushed` says whether queued messages are still sent.
  func end(isFlushed: Bool) {
    let listeners = state.withLock { state -> [@Sendable () -> Void] in
      if !isFlushed {
        state.isFlushed = false
        state.queue.removeAll()
      }
      proceed(&state)
      guard !state.hasEnded else { return [] }
      state.hasEnded = true
      state.onDrained = nil
      defer { state.onEnd = [] }
      return state.onEnd
    }
    for listener in listeners { listener() }
  }

  /// The number of ticks without a message after which a comment is sent.
  static let ticksOfSilence = 4

  /// Queues a comment if nothing was sent for some ticks and nothing is queued. It keeps the connection alive across
  /// proxies, and detects a lost client. Cuts a stream whose client reads nothing.
  ///
  /// - Parameter idleMilliseconds: the maximum time for which the client may read nothing.
  func tick(idleMilliseconds: Int64 = .max) {
    let isStuck = state.withLock { state in
      if let since = state.outlet?.fullSince, MonotonicClock.milliseconds() - since > idleMilliseconds {
        return true
      }
      state.silentTicks += 1
      guard !state.hasEnded, state.silentTicks >= Self.ticksOfSilence, state.queue.isEmpty else {
        return false
      }
      _ = state.queue.append(.heartbeat)
      proceed(&state)
      return false
    }
    if isStuck { cut() }
  }

  /// Sets the connection, before libmicrohttpd asks for the first byte.
  ///
  /// - Parameter outlet: nil if libmicrohttpd sends all messages.
  func attach(_ connection: OpaquePointer, _ outlet: EventOutlet?) {
    let connection = Connection(pointer: connection)
    state.withLock { state in
      state.connection = connection
      state.outlet = outlet
    }
  }

  /// For libmicrohttpd, on its thread: provides the next bytes, or suspends the connection if there are none, or if the
  /// sender sends them.
  ///
  /// - Returns: the number of bytes written, or one of `MHD_CONTENT_READER_END_…`.
  func take(into target: UnsafeMutableRawBufferPointer) -> Int {
    while true {
      let taken = state.withLock { state -> Taken in
        if state.outlet == nil || !state.hasBegun {
          state.hasBegun = true
          let count = state.queue.take(into: target)
          guard count == 0 else {
            state.silentTicks = 0
            return .answer(count)
          }
        }
        if state.queue.isEmpty {
          if let onDrained = state.onDrained.take() { return .drained(onDrained) }
          guard !state.hasEnded else {
            // -1: the regular end; -2: the connection is closed within the response.
            return .answer(state.isFlushed ? -1 : -2)
          }
        }
        guard let connection = state.connection else { return .answer(-2) }
        // Under the lock: either the message is detected above, or the writer finds the connection suspended.
        MHD_suspend_connection(connection.pointer)
        state.isSuspended = true
        if !state.queue.isEmpty { proceed(&state) }
        return .answer(0)
      }
      switch taken {
      case .answer(let count):
        if count > 0 { counters.countBytes(count) }
        return count
      // Called outside the lock, because it may write. The next iteration sends these messages.
      case .drained(let body): body()
      }
    }
  }

  /// For the sender, on its thread: sends as many bytes as fit into the socket, up to the buffer's size.
  func send(with buffer: UnsafeMutableRawBufferPointer) {
    while true {
      let sent = state.withLock { state -> (count: Int, onDrained: (@Sendable () -> Void)?)? in
        state.isAdded = false
        // Otherwise libmicrohttpd uses the socket, or has closed it.
        guard state.isSuspended, state.isFlushed else { return (0, nil) }
        let queued = state.queue.byteCount
        guard state.outlet?.send(&state.queue, with: buffer) == true else { return nil }
        let count = queued - state.queue.byteCount
        if count > 0 { state.silentTicks = 0 }
        // The socket reports room.
        guard state.outlet?.isEmpty == true else { return (count, nil) }
        let onDrained = state.queue.isEmpty ? state.onDrained.take() : nil
        if onDrained == nil, !state.queue.isEmpty || state.hasEnded { proceed(&state) }
        return (count, onDrained)
      }
      guard let sent else { return cut() }
      if sent.count > 0 { counters.countBytes(sent.count) }
      guard let onDrained = sent.onDrained else { return }
      // Called outside the lock, because it may write.
      onDrained()
    }
  }

  /// For the sender, on its thread: the socket has room again, or the client has disconnected.
  func look(sendingWith buffer: UnsafeMutableRawBufferPointer) {
    let isGone = state.withLock { state in
      // Without an outlet, only the end is reported.
      guard let outlet = state.outlet else { return true }
      guard state.connection != nil else { return false }
      var entry = pollfd(fd: outlet.socket, events: Int16(EPOLLRDHUP.rawValue), revents: 0)
      return poll(&entry, 1, 0) == 1
    }
    if isGone { cut() } else { send(with: buffer) }
  }

  private enum Taken {
    case answer(Int)
    case drained(@Sendable () -> Void)
  }

  /// For libmicrohttpd, on its thread: the response is over, and the connection must not be used any more.
  func detach() {
    state.withLock { state in
      state.connection = nil
      state.isSuspended = false
    }
    end(isFlushed: false)
  }

  /// Wakes the sender, or libmicrohttpd, also for the end. Only a suspended connection may be resumed.
  private func proceed(_ state: inout State) {
    guard state.isSuspended, let connection = state.connection else { return }
    if let outlet = state.outlet, state.isFlushed, !(state.hasEnded && state.queue.isEmpty && outlet.isEmpty)
    {
      guard !state.isAdded else { return }
      state.isAdded = true
      outlet.sender.add(self)
    } else {
      state.isSuspended = false
      MHD_resume_connection(connection.pointer)
    }
  }
}
