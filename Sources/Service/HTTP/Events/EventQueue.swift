/// The queue of one stream: complete messages, and the rest of the one being sent.
struct EventQueue {
  /// The messages, starting at `first`. Earlier slots are empty.
  private var events: [EncodedEvent] = []
  private var first = 0
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

  var isEmpty: Bool { first == events.count }

  /// Appends a message. If the queue is empty, it may exceed the limit, because it could never be sent otherwise.
  ///
  /// - Returns: false, without a change, if it does not fit.
  mutating func append(_ event: EncodedEvent) -> Bool {
    if isEmpty, event.bytes.count > limit {
      addExempt(event)
      return true
    }
    guard event.bytes.count <= limit - (byteCount - exemptByteCount) else { return false }
    add(event)
    return true
  }

  /// Replaces all queued messages by one of any size. A partially sent message is kept, because the client could not
  /// tell where the next one begins.
  mutating func replaceAll(with event: EncodedEvent) {
    let started = sent > 0 ? events[first] : nil
    events.removeAll()
    first = 0
    byteCount = 0
    exemptCount = 0
    exemptByteCount = 0
    if let started {
      events.append(started)
      byteCount = started.bytes.count - sent
      exemptCount = 1
      exemptByteCount = byteCount
    }
    addExempt(event)
  }

  /// Drops everything.
  mutating func removeAll() {
    self = EventQueue(limit: limit)
  }

  /// Moves as many bytes as are available and fit.
  ///
  /// - Returns: the number of bytes.
  mutating func take(into target: UnsafeMutableRawBufferPointer) -> Int {
    var filled = 0
    while filled < target.count, !isEmpty {
      let bytes = events[first].bytes
      let count = min(bytes.count - sent, target.count - filled)
      UnsafeMutableRawBufferPointer(rebasing: target[filled...]).copyBytes(from: bytes[sent..<sent + count])
      filled += count
      sent += count
      if exemptCount > 0 { exemptByteCount -= count }
      if sent == bytes.count { removeFirst() }
    }
    byteCount -= filled
    return filled
  }

  private mutating func add(_ event: EncodedEvent) {
    guard !event.bytes.isEmpty else { return }
    events.append(event)
    byteCount += event.bytes.count
  }

  private mutating func addExempt(_ event: EncodedEvent) {
    guard !event.bytes.isEmpty else { return }
    add(event)
    exemptCount += 1
    exemptByteCount += event.bytes.count
  }

  private mutating func removeFirst() {
    sent = 0
    if exemptCount > 0 { exemptCount -= 1 }
    // The bytes are released at once. The slots are removed when half of them are empty.
    events[first] = EncodedEvent(bytes: [])
    first += 1
    if first * 2 >= events.count {
      events.removeFirst(first)
      first = 0
    }
  }
}
