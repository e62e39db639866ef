import Glibc
import Queues

/// The queue of one stream: complete messages, and the rest of the one being sent.
struct EventQueue {
  private var events = Queue<EncodedEvent>()
  /// The number of bytes of the first message that have been sent.
  private var sent = 0
  /// The number of queued bytes.
  private(set) var byteCount = 0
  /// Messages at the front of the queue that are exempt from the limit, and their queued bytes. Their size is
  /// legitimate, and the limit applies to the messages after them.
  private var exemptCount = 0
  private var exemptByteCount = 0
  /// The maximum number of queued bytes.
  let limit: Int

  init(limit: Int) {
    self.limit = limit
  }

  var isEmpty: Bool { events.isEmpty }

  /// Appends a message. If the queue is empty, it may exceed the limit, because it could never be sent otherwise.
  ///
  /// - Parameter isBounded: whether it must fit.
  /// - Returns: false, without a change, if it does not fit.
  mutating func append(_ event: EncodedEvent, isBounded: Bool = true) -> Bool {
    if isEmpty, event.count > limit {
      appendExempt(event)
      return true
    }
    guard !isBounded || event.count <= limit - (byteCount - exemptByteCount) else { return false }
    add(event)
    return true
  }

  /// Appends a message of any size. The limit applies to the messages after it.
  mutating func appendExempt(_ event: EncodedEvent) {
    add(event)
    exemptCount = events.count
    exemptByteCount = byteCount
  }

  /// Replaces all queued messages by one of any size. A partially sent message is kept, because the client could not
  /// find the start of the next one.
  mutating func replaceAll(with event: EncodedEvent) {
    let started = sent > 0 ? events.first : nil
    events = Queue()
    byteCount = 0
    if let started {
      events.append(started)
      byteCount = started.count - sent
    }
    appendExempt(event)
  }

  /// Drops everything.
  mutating func removeAll() { self = EventQueue(limit: limit) }

  /// Moves as many bytes as are available and fit, and returns their number.
  mutating func take(into target: UnsafeMutableRawBufferPointer) -> Int {
    var filled = 0
    while filled < target.count, let event = events.first {
      let piece = event.piece(from: sent)
      let count = min(piece.count, target.count - filled)
      UnsafeMutableRawBufferPointer(rebasing: target[filled...]).copyBytes(from: piece.prefix(count))
      filled += count
      sent += count
      if exemptCount > 0 { exemptByteCount -= count }
      guard sent == event.count else { continue }
      sent = 0
      if exemptCount > 0 { exemptCount -= 1 }
      _ = events.removeFirst()
    }
    byteCount -= filled
    return filled
  }

  private mutating func add(_ event: EncodedEvent) {
    guard event.count > 0 else { return }
    events.append(event)
    byteCount += event.count
  }
}

/// An encoded message of a stream. Copies share their bytes, so that a message in a thousand queues exists once in
/// memory.
package struct EncodedEvent: Sendable {
  /// UTF-8, including the empty line at its end.
  package let bytes: [UInt8]
  /// An object that lives as long as the message is queued anywhere. Its deinitialisation means that the bytes are
  /// released.
  package private(set) var owner: (any Sendable & AnyObject)?
  /// The position of the data's first member, if the data is an object.
  private let firstMember: Int
  /// Members of one reader, which are sent before the first.
  private var tag: [UInt8] = []

  init(bytes: [UInt8], firstMember: Int = 0) {
    self.bytes = bytes
    self.firstMember = firstMember
  }

  /// The size of the message with the tag.
  var count: Int { bytes.count + tag.count }

  /// The same message with an owner.
  package func owned(by owner: any Sendable & AnyObject) -> EncodedEvent {
    var event = self
    event.owner = owner
    return event
  }

  /// The same message, whose data is an object, with additional members at its beginning. Shares the bytes.
  ///
  /// - Parameter tag: JSON members, with a comma behind each; empty for none.
  package func tagged(_ tag: [UInt8]) -> EncodedEvent {
    var event = self
    event.tag = tag
    return event
  }

  /// A part of the message with the tag, from an offset.
  func piece(from offset: Int) -> ArraySlice<UInt8> {
    let inTag = offset - firstMember
    if tag.isEmpty { return bytes[offset...] }
    if inTag < 0 { return bytes[offset..<firstMember] }
    return inTag < tag.count ? tag[inTag...] : bytes[(offset - tag.count)...]
  }

  /// A comment, which clients ignore.
  static let heartbeat = EncodedEvent(bytes: Array(":\n\n".utf8))

  /// Sets a client's wait, in milliseconds, before it reconnects after the end of the stream.
  static func retry(milliseconds: Int) -> EncodedEvent {
    EncodedEvent(bytes: Array("retry: \(milliseconds)\n\n".utf8))
  }
}

/// The result of writing a message to a stream.
package enum EventStreamWrite: Sendable, Equatable {
  /// It will be sent, unless it is replaced or the client disconnects.
  case queued
  /// It was rejected: the client is too slow, and the queue is full. Either end the stream with
  /// ``EventStream/close()``, or replace the queued messages by one that supersedes them with
  /// ``EventStream/replaceQueued(with:)``.
  case full
  /// It was rejected: the stream has ended.
  case closed
}

/// Messages as specified by "Server-sent events" in the HTML standard.
extension EncodedEvent {
  /// Encodes a message. Do so once, and write it to any number of streams.
  ///
  /// - Parameters:
  ///   - id: the value of `Last-Event-ID` when the client reconnects; nil to leave it unchanged. Line breaks and zeros,
  ///     which are not allowed, are removed.
  ///   - name: the event type; nil for `message`; likewise.
  ///   - data: UTF-8, which is not checked. The client receives each line break as a line feed.
  package init(id: String? = nil, name: String? = nil, data: [UInt8]) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(data.count + 64)
    if let id { Self.append("id: ", Self.line(id), to: &bytes) }
    if let name { Self.append("event: ", Self.line(name), to: &bytes) }
    let firstMember = bytes.count + "data: {".utf8.count
    var rest = data[...]
    while true {
      let line = rest[..<Self.lineEnd(in: rest)]
      Self.append("data: ", line, to: &bytes)
      rest = rest[line.endIndex...]
      guard let lineBreak = rest.popFirst() else { break }
      if lineBreak == UInt8(ascii: "\r"), rest.first == UInt8(ascii: "\n") { rest = rest.dropFirst() }
    }
    bytes.append(UInt8(ascii: "\n"))
    self.init(bytes: bytes, firstMember: firstMember)
  }

  private static func append(_ field: StaticString, _ value: some Collection<UInt8>, to bytes: inout [UInt8])
  {
    field.withUTF8Buffer { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: value)
    bytes.append(UInt8(ascii: "\n"))
  }

  /// The position of the first line break, or the end. Most data has none, so the search uses a C function.
  private static func lineEnd(in bytes: ArraySlice<UInt8>) -> Int {
    bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress else { return bytes.endIndex }
      let found = [UInt8(ascii: "\n"), UInt8(ascii: "\r")].compactMap {
        memchr(base, Int32($0), buffer.count)
      }
      return found.map { bytes.startIndex + (UnsafeRawPointer($0) - base) }.min() ?? bytes.endIndex
    }
  }

  private static func line(_ text: String) -> [UInt8] {
    text.utf8.filter { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") && $0 != 0 }
  }
}
