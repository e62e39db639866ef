/// The queue of one stream: whole messages, and the rest of the one that is being sent.
struct EventQueue {
  /// The messages from `first` on; those before it are sent, and empty.
  private var events: [EncodedEvent] = []
  private var first = 0
  /// Bytes of the first message that are sent.
  private var sent = 0
  /// Bytes that wait.
  private(set) var byteCount = 0
  /// Messages at the beginning of the queue that do not count against the limit, and their bytes that wait. They
  /// stand for something that is long by nature; what comes behind them has the limit for itself.
  private var exemptCount = 0
  private var exemptByteCount = 0
  /// The most bytes that should wait.
  let limit: Int

  init(limit: Int) {
    self.limit = limit
  }

  var isEmpty: Bool { first == events.count }

  /// Adds a message at the end. If none waits, it may be longer than the limit, as it could never be sent
  /// otherwise.
  ///
  /// - Returns: False, and nothing is changed, if it does not fit.
  mutating func append(_ event: EncodedEvent) -> Bool {
    if isEmpty, event.bytes.count > limit {
      addExempt(event)
      return true
    }
    guard event.bytes.count <= limit - (byteCount - exemptByteCount) else { return false }
    add(event)
    return true
  }

  /// Puts a message in the place of all that wait, whatever its length. One that is sent in part is kept: the
  /// client could not tell where the next one begins.
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

  /// Moves as many bytes as there are and fit.
  ///
  /// - Returns: How many.
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
    // Its bytes are given back at once, its place when as many are empty as not.
    events[first] = EncodedEvent(bytes: [])
    first += 1
    if first * 2 >= events.count {
      events.removeFirst(first)
      first = 0
    }
  }
}
