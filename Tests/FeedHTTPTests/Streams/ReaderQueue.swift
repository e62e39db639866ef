@testable import HTTP

/// A stream's queue without a connection, and the messages in it.
struct ReaderQueue {
  let stream: EventStream

  /// - Parameters:
  ///   - limit: the maximum number of queued bytes.
  ///   - rights: the client's rights.
  init(limit: Int = 1_000, rights: AccessRights = .all) {
    stream = EventStream(
      number: 1,
      queueLimit: limit,
      retryMilliseconds: 3_000,
      counters: HTTPCounterStore(),
      rights: rights
    )
    _ = drain()
  }

  /// Takes the queued events, as a client would.
  ///
  /// - Returns: the data of the messages, after the event's name if it is not a changeset.
  func drain() -> [String] {
    guard stream.queuedBytes > 0 else { return [] }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 100_000, alignment: 1)
    defer { buffer.deallocate() }
    let text = String(decoding: buffer[..<stream.take(into: buffer)], as: UTF8.self)
    // It is notified that everything was read.
    _ = stream.take(into: buffer)
    var name = ""
    var messages: [String] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.isEmpty { name = "" }
      if line.hasPrefix("event: ") { name = line.dropFirst(7) + " " }
      if line.hasPrefix("data: ") { messages.append(name + line.dropFirst(6)) }
    }
    return messages
  }
}
