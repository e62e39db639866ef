import Glibc
import OperatingSystem
import Synchronization

/// A thread that sends the messages of streams, sends heartbeats, and notices when clients disconnect.
///
/// libmicrohttpd sends the head of a response, and its first bytes. After that it would have to be woken for each
/// message, and would check all streams each time. Only with HTTPS, it also sends the messages.
final class EventSender: @unchecked Sendable {
  // Unchecked: the buffer is used only on the thread.
  private let thread: EpollThread
  private let streams: EventStreamRegistry
  private let waiting = Mutex(Waiting())
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 16)

  private struct Waiting {
    /// Streams with bytes to send.
    var streams: [EventStream] = []
    /// Whether the thread is about to process them.
    var isAwake = false
  }

  /// The number of rounds of sending before it serves sockets.
  private static let mostRounds = 64

  /// Opens the descriptors.
  ///
  /// - Throws: ``HTTPServerError`` if no descriptor is available.
  init(_ streams: EventStreamRegistry) throws(HTTPServerError) {
    self.streams = streams
    thread = try EpollThread("http-streams")
  }

  deinit { buffer.deallocate() }

  /// Starts the thread, which holds this object until it is stopped. Call it once.
  ///
  /// - Parameter idleMilliseconds: the maximum time for which a client may read nothing while bytes wait.
  func start(tickMilliseconds: Int64, idleMilliseconds: Int64) {
    thread.start(
      tickMilliseconds: tickMilliseconds,
      onEvent: { self.streams.stream($0)?.look(sendingWith: self.buffer) },
      onWake: { self.send() },
      onTick: { for stream in self.streams.all { stream.tick(idleMilliseconds: idleMilliseconds) } }
    )
  }

  func stop() { thread.stop() }

  /// Sends the stream's messages soon. One wake-up serves all streams that are added until then.
  func add(_ stream: EventStream) {
    let isAwake = waiting.withLock { waiting in
      waiting.streams.append(stream)
      defer { waiting.isAwake = true }
      return waiting.isAwake
    }
    if !isAwake { thread.wake() }
  }

  func watch(_ socket: Int32, of stream: EventStream, alsoRoom: Bool) {
    thread.watchEnd(socket, number: stream.number, alsoRoom: alsoRoom)
  }

  /// Stops watching a socket, which must still be open.
  func forget(_ socket: Int32) { thread.forget(socket) }

  private func send() {
    var streams: [EventStream] = []
    for _ in 0..<Self.mostRounds {
      streams.removeAll(keepingCapacity: true)
      waiting.withLock { waiting in
        swap(&waiting.streams, &streams)
        waiting.isAwake = !streams.isEmpty
      }
      guard !streams.isEmpty else { return }
      for stream in streams { stream.send(with: buffer) }
    }
    thread.wake()
  }
}

/// The socket of a stream that an ``EventSender`` writes to.
struct EventOutlet {
  let sender: EventSender
  let socket: Int32
  /// Whether the response is sent in chunks; not with HTTP/1.0.
  let isChunked: Bool
  /// The rest of a chunk that did not fit into the socket.
  private var rest: [UInt8] = []
  /// The time since which the socket is full, in milliseconds of ``MonotonicClock``; nil if it has room.
  private(set) var fullSince: Int64?

  init(_ sender: EventSender, socket: Int32, isChunked: Bool) {
    self.sender = sender
    self.socket = socket
    self.isChunked = isChunked
  }

  var isEmpty: Bool { rest.isEmpty }

  /// The bytes before a chunk: its size, and a line break.
  private static let headBytes = 10

  /// Sends a part of a queue, as one chunk, or the rest of the last one.
  ///
  /// - Parameter buffer: scratch memory.
  /// - Returns: false if the connection has failed.
  mutating func send(_ queue: inout EventQueue, with buffer: UnsafeMutableRawBufferPointer) -> Bool {
    guard rest.isEmpty else {
      let chunk = rest
      return chunk.withUnsafeBytes { send($0) }
    }
    var start = Self.headBytes
    let count = queue.take(into: UnsafeMutableRawBufferPointer(rebasing: buffer[start..<buffer.count - 2]))
    guard count > 0 else { return true }
    var end = start + count
    if isChunked {
      for byte in "\n\r".utf8 {
        start -= 1
        buffer[start] = byte
      }
      for digit in String(count, radix: 16).utf8.reversed() {
        start -= 1
        buffer[start] = digit
      }
      for byte in "\r\n".utf8 {
        buffer[end] = byte
        end += 1
      }
    }
    return send(UnsafeRawBufferPointer(rebasing: buffer[start..<end]))
  }

  private mutating func send(_ chunk: UnsafeRawBufferPointer) -> Bool {
    let count = Glibc.send(socket, chunk.baseAddress, chunk.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    guard count >= 0 || [EAGAIN, EWOULDBLOCK, EINTR].contains(errno) else { return false }
    rest = Array(chunk[max(0, count)...])
    if count == chunk.count {
      fullSince = nil
    } else if count > 0 || fullSince == nil {
      fullSince = MonotonicClock.milliseconds()
    }
    return true
  }
}
