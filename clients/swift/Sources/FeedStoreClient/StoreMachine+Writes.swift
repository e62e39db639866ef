import Foundation

/// Writes, shown before they are confirmed.
extension StoreMachine {
  /// Begins a write.
  ///
  /// - Parameter value: An event or an array of events, as JSON.
  mutating func write(_ value: String, _ handle: HandleID, wait: Int) -> WriteID {
    let id = WriteID(number: newNumber())
    guard let shown = handles[handle], let follow = follows[shown.follow] else {
      effects.append(.finish(id, .failure(WriteFailed(message: "the feed is closed", wasSent: false))))
      return id
    }
    guard max(follow.pending.count, queues[follow.feed]?.count ?? 0) < Self.maxPendingWrites else {
      let message =
        "\(Self.maxPendingWrites) writes of the feed are not confirmed; try again later. Nothing was sent"
      effects.append(.finish(id, .failure(WriteRejected(code: "too-many-pending", message: message))))
      return id
    }
    queues[follow.feed, default: []].append(QueuedWrite(id: id, value: value, wait: wait))
    if queues[follow.feed]?.count == 1 { post(follow.feed) }
    let operations = PendingOperation.list(value)
    for number in follows.keys.sorted() where !operations.isEmpty {
      // A follow without listeners would not learn that the write is confirmed.
      guard let other = follows[number], other.feed == follow.feed, other.listeners > 0,
        other.confirmed.exists
      else { continue }
      follows[number]?.pending.append(PendingWrite(id: id, operations: operations))
      follows[number]?.overlay()
      tell(number, .pending)
    }
    return id
  }

  /// Sends the first write of a feed that is not answered. Those after it wait: requests at the same time are applied in any order.
  mutating func post(_ feed: FeedID) {
    guard let write = queues[feed]?.first else {
      queues[feed] = nil
      return
    }
    // The instance that has the feed knows what becomes of the write.
    let home = follows.values.first { $0.feed == feed && $0.home != nil }?.home
    let connected = streams.values.first { if case .open = $0.phase { true } else { false } }?.server
    let url = url(of: home ?? connected ?? 0, "/v1/feeds/\(Self.encoded(feed.rawValue))/events")
    effects.append(.post(write.id, url, body: write.value, wait: write.wait))
  }

  func feed(sending id: WriteID) -> FeedID? { queues.first { $0.value.first?.id == id }?.key }

  /// A token is not valid yet, so nothing was written. Returns whether the write is sent again.
  mutating func sendLater(_ id: WriteID) -> Bool {
    guard let feed = feed(sending: id), queues[feed]![0].refusals < Self.maxRefusals else { return false }
    queues[feed]![0].refusals += 1
    effects.append(.setTimer(.send(id), seconds: tokens.inUse(now()) == nil ? HeldTokens.pause : 0))
    return true
  }

  /// The answer to a write; without one there is no response.
  mutating func answered(_ id: WriteID, _ status: Int?, _ object: JSONObject?, _ problem: HTTPProblem?) {
    guard let feed = feed(sending: id) else { return }
    queues[feed]?.removeFirst()
    defer { post(feed) }
    switch status {
    case .some(200), .some(202):
      guard let written = object.flatMap({ Written($0, feed: feed) }) else { fallthrough }
      accepted(id, written)
      effects.append(.finish(id, .success(written)))
    case .none, .some(200..<400), .some(500...):
      takeBack(id)
      let message = problem?.detail ?? "the server did not answer"
      effects.append(.finish(id, .failure(WriteFailed(message: message))))
    default:
      takeBack(id)
      let code = problem.map { $0.code.isEmpty ? "status-\($0.status)" : $0.code } ?? "unknown"
      effects.append(.finish(id, .failure(WriteRejected(code: code, message: problem?.detail ?? ""))))
    }
  }

  private mutating func accepted(_ id: WriteID, _ written: Written) {
    edit(id) { write, follow in
      (write.topic, write.offset) = (written.topic, written.offset)
      (write.epoch, write.revision) = (written.epoch, written.revision)
      write.awaitsNext = written.offset == nil
      // Published, and the feed does not exist any more: there is nothing to wait for.
      return !follow.confirmed.exists
    }
    lookLater(id)
  }

  private mutating func lookLater(_ id: WriteID) {
    guard follows.values.contains(where: { $0.pending.contains { $0.id == id } }) else { return }
    effects.append(.setTimer(.look(id), seconds: Self.lookSeconds))
  }

  mutating func look(_ id: WriteID) {
    edit(id) { write, follow in
      // Without listeners it is not shown.
      if follow.shown.standing == .live || follow.listeners == 0 { write.liveSeconds += Self.lookSeconds }
      return write.liveSeconds >= Self.pendingSeconds
    }
    lookLater(id)
  }

  private mutating func takeBack(_ id: WriteID) { edit(id) { _, _ in true } }

  /// Changes a write wherever it is pending, and shows what remains.
  ///
  /// - Parameter change: Whether to drop it.
  private mutating func edit(_ id: WriteID, _ change: (inout PendingWrite, Follow) -> Bool) {
    for number in follows.keys.sorted() {
      guard let follow = follows[number], let index = follow.pending.firstIndex(where: { $0.id == id }) else {
        continue
      }
      var write = follow.pending[index]
      let isDropped = change(&write, follow)
      follows[number]?.pending[index] = write
      if isDropped { follows[number]?.pending.remove(at: index) }
      follows[number]?.dropConfirmed(isNewer: false)
      guard follows[number]?.pending.count != follow.pending.count else { continue }
      follows[number]?.overlay()
      tell(number, .pending)
    }
  }

  /// An id as a segment of a path, in which `.` and `..` would mean something else.
  static func encoded(_ id: String) -> String {
    if id == "." || id == ".." { return id.replacingOccurrences(of: ".", with: "%2E") }
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    return id.addingPercentEncoding(
      withAllowedCharacters: CharacterSet(charactersIn: letters + "0123456789-._~")
    ) ?? id
  }
}
