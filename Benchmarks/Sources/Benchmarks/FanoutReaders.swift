import CBareLoop
import Glibc

/// Reads many streams on a separate thread, and notes when each numbered message arrives.
final class FanoutReaders: @unchecked Sendable {
  // Unchecked: the thread alone uses the connections and what it has noted, until it has ended.
  struct Received {
    /// From sending a message to each of its deliveries.
    var delays = Samples()
    /// From the first delivery of a message to each of its deliveries.
    var spreads = Samples()
    /// Deliveries that other readers of the feed had and one did not, or had in another order.
    var lost = 0
    /// All bytes that arrived, with framing, while these messages were counted.
    var bytes = 0
    var count: Int { delays.count }
  }

  private struct Connection {
    var framing = ChunkFraming()
    /// The end of the last part, which may begin a message.
    var rest: [UInt8] = []
    var feed = -1
    var numbers: [Int] = []
  }

  private let epoll: Int32
  private let feedCount: Int
  private let sockets: [Int32]
  private var connections: [Connection]
  private var thread = pthread_t()
  // Set by one thread and read by the other; a moment later does not matter.
  private var isStopping = false
  private var first = Int.max
  private var received = Received()
  /// The first arrival of each message.
  private var arrivals: [UInt64: UInt64] = [:]

  init(_ sockets: [Int32], feedCount: Int) {
    self.sockets = sockets
    self.feedCount = feedCount
    connections = sockets.map { _ in Connection() }
    epoll = epoll_create1(0)
    for (index, socket) in sockets.enumerated() {
      var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data(u64: UInt64(index)))
      epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event)
    }
    let owner = Unmanaged.passRetained(self).toOpaque()
    let result = pthread_create(&thread, nil, { @Sendable in readMain($0) }, owner)
    guard result == 0 else { BenchmarksCommand.fail("no thread") }
  }

  /// Counts the messages from this number on.
  func measure(from number: Int) { first = number }

  func stop() -> Received {
    isStopping = true
    pthread_join(thread, nil)
    close(epoll)
    var published: [[Int]] = Array(repeating: [], count: feedCount)
    for feed in 0..<feedCount {
      published[feed] = Set(connections.lazy.filter { $0.feed == feed }.flatMap(\.numbers)).sorted()
    }
    for (index, connection) in connections.enumerated() {
      let expected = published[index % feedCount]
      if connection.numbers != expected { received.lost += max(1, expected.count - connection.numbers.count) }
    }
    return received
  }

  /// A number of fixed width, as it is in messages.
  static func digits(_ number: UInt64) -> String {
    String(number + 1_000_000_000_000_000_000)
  }

  private static let mark = Array(#""n":1"#.utf8)
  /// The bytes from the mark's digits to the end of the time.
  private static let markedBytes = #""n":"#.utf8.count + 19 + #","at":"#.utf8.count + 19

  fileprivate func run() {
    var events = [epoll_event](repeating: epoll_event(), count: 512)
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while !isStopping {
      let count = epoll_wait(epoll, &events, Int32(events.count), 100)
      for event in events.prefix(Int(max(0, count))) {
        let index = Int(event.data.u64)
        let size = recv(sockets[index], &bytes, bytes.count, Int32(MSG_DONTWAIT))
        guard size > 0 else {
          if size == 0 { BenchmarksCommand.fail("a stream has ended") }
          continue
        }
        if first != .max { received.bytes += size }
        take(bytes[..<size], of: index, at: now())
      }
    }
  }

  private func take(_ bytes: ArraySlice<UInt8>, of index: Int, at time: UInt64) {
    var text = connections[index].rest
    connections[index].framing.append(bytes, to: &text)
    var end = 0
    text.withUnsafeBytes { text in
      while let start = Self.mark(in: text, from: end) {
        guard start + Self.markedBytes <= text.count else {
          end = start
          return
        }
        end = start + Self.markedBytes
        note(number: Self.number(text, start + 4), sent: Self.number(text, end - 19), of: index, at: time)
      }
      end = max(end, text.count - Self.mark.count + 1)
    }
    connections[index].rest = Array(text[min(end, text.count)...])
  }

  private static func mark(in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
    var start = start
    while start + mark.count <= text.count,
      let found = memchr(text.baseAddress! + start, Int32(mark[0]), text.count - mark.count + 1 - start)
    {
      start = UnsafeRawPointer(found) - text.baseAddress!
      if memcmp(found, mark, mark.count) == 0 { return start }
      start += 1
    }
    return nil
  }

  private static func number(_ text: UnsafeRawBufferPointer, _ start: Int) -> UInt64 {
    text[start + 1..<start + 19].reduce(0) { $0 * 10 + UInt64($1 & 15) }
  }

  private func note(number: UInt64, sent: UInt64, of index: Int, at time: UInt64) {
    guard Int(number) >= first else { return }
    connections[index].feed = index % feedCount
    connections[index].numbers.append(Int(number))
    received.delays.add(time - sent)
    let arrived = arrivals[number] ?? time
    arrivals[number] = arrived
    received.spreads.add(time - arrived)
  }
}

private func readMain(_ owner: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let owner else { return nil }
  Unmanaged<FanoutReaders>.fromOpaque(owner).takeRetainedValue().run()
  return nil
}

/// Takes the bytes of a response's content out of its chunks.
private struct ChunkFraming {
  private enum State {
    case head([UInt8])
    case plain
    case size(Int)
    case sizeEnd(Int)
    case content(Int)
    /// The line break after a chunk.
    case end(Int)
  }

  private var state = State.head([])

  mutating func append(_ bytes: ArraySlice<UInt8>, to text: inout [UInt8]) {
    var bytes = bytes
    while !bytes.isEmpty {
      switch state {
      case .plain:
        text += bytes
        return
      case .head(var head):
        head.append(bytes.removeFirst())
        state = .head(head)
        guard head.suffix(4) == [13, 10, 13, 10] else { continue }
        let lines = String(decoding: head, as: UTF8.self).lowercased()
        guard lines.hasPrefix("http/1.1 200") else { BenchmarksCommand.fail("a reader is refused: \(lines)") }
        state = lines.contains("transfer-encoding: chunked") ? .size(0) : .plain
      case .size(let size):
        let byte = bytes.removeFirst()
        if byte == 13 {
          state = .sizeEnd(size)
        } else {
          state = .size(size * 16 + Int(byte < 64 ? byte & 15 : (byte & 7) + 9))
        }
      case .sizeEnd(let size):
        bytes.removeFirst()
        state = size == 0 ? .plain : .content(size)
      case .content(let left):
        let part = bytes.prefix(left)
        text += part
        bytes = bytes.dropFirst(part.count)
        state = part.count == left ? .end(2) : .content(left - part.count)
      case .end(let left):
        bytes.removeFirst()
        state = left == 1 ? .size(0) : .end(left - 1)
      }
    }
  }
}
