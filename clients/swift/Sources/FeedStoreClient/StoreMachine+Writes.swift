import Foundation

/// A write that is not over: it waits, is sent, or is shown until a changeset includes it.
struct PendingWrite {
  enum Phase { case queued, sending, asking, done }

  /// All that get its outcome: with the same key, a later write replaces one that was not sent.
  var names: [WriteID]
  let key: String?
  /// An event or an array of events, as JSON.
  var value: String { didSet { operations = PendingOperation.list(value) } }
  private(set) var operations: [PendingOperation]
  var wait: Int
  var phase = Phase.queued
  /// The server's answer, and whether the write is published.
  var written: Written?
  var isPublished = false
  /// By follow, the live time at which it is over; 0 if the follow includes it.
  var ends: [Int: Milliseconds] = [:]

  init(_ id: WriteID, value: String, wait: Int, key: String?) {
    (names, self.key, self.value, self.wait) = ([id], key, value, wait)
    operations = PendingOperation.list(value)
  }

  /// Whether it was accepted without an offset: then the next changeset includes it.
  var awaitsNext: Bool { written != nil && written?.offset == nil }

  /// Whether a follow still shows it, and until which live time if nothing includes it.
  mutating func isShown(
    in follow: Follow,
    _ number: Int,
    liveTime: Milliseconds
  ) -> (isShown: Bool, until: Milliseconds?) {
    guard let written else { return (true, nil) }
    if isIncluded(written, in: follow) {
      ends[number] = 0
    } else if phase == .done, ends[number] == nil {
      ends[number] = liveTime + (isPublished ? StoreMachine.publishedShown : StoreMachine.sentShown)
    }
    return ((ends[number] ?? .max) > liveTime, ends[number])
  }

  private func isIncluded(_ written: Written, in follow: Follow) -> Bool {
    if let offset = written.offset, follow.confirmed.through[written.topic] ?? -1 >= offset { return true }
    if let revision = written.revision, let known = follow.known, known.epoch == written.epoch,
      known.revision >= revision
    {
      return true
    }
    return isPublished && (written.revision == nil || written.changed == false)
  }
}

/// Writes, shown before they are published.
extension StoreMachine {
  /// Begins a write.
  ///
  /// - Parameter value: An event or an array of events, as JSON.
  mutating func write(_ value: String, _ feed: FeedID, wait: Int, key: String? = nil) -> WriteID {
    let id = WriteID(number: newNumber())
    let known = writes[feed] ?? []
    guard !isClosed, known.count < Self.maxPendingWrites else {
      let message = "\(Self.maxPendingWrites) writes of the feed are not confirmed; try again later"
      let error =
        isClosed
        ? WriteFailed(message: "the store is closed", wasSent: false)
        : WriteFailed(code: "too-many-writes", message: message, wasSent: false)
      add(.finish(id, .failure(error)))
      return id
    }
    if let key, let index = known.firstIndex(where: { $0.key == key && $0.phase == .queued }) {
      writes[feed]?[index].names.append(id)
      writes[feed]?[index].value = value
      writes[feed]?[index].wait = wait
    } else {
      writes[feed, default: []].append(PendingWrite(id, value: value, wait: wait, key: key))
    }
    refresh(feed)
    sendNext(feed)
    return id
  }

  /// Sends the next write of a feed: one request at a time decides the order.
  private mutating func sendNext(_ feed: FeedID) {
    let known = writes[feed] ?? []
    let unfinished = known.count { $0.phase == .sending || $0.phase == .asking }
    guard unfinished < Self.maxUnfinishedWrites, !known.contains(where: { $0.phase == .sending }),
      let index = known.firstIndex(where: { $0.phase == .queued })
    else { return }
    writes[feed]?[index].phase = .sending
    let home = follows.sorted { $0.key < $1.key }.first { $0.value.feed == feed && $0.value.home != nil }
    let connected = streams.sorted { $0.key < $1.key }.first { $0.value.phase == .open }
    let server = home?.value.home ?? connected?.value.server ?? 0
    let url = url(of: server, "/v1/feeds/\(Self.encoded(feed.rawValue))/events")
    begin(.post(feed, known[index].names[0]), Call(method: "POST", url: url, body: known[index].value))
  }

  private func index(_ feed: FeedID, _ id: WriteID) -> Int? {
    writes[feed]?.firstIndex { $0.names[0] == id }
  }

  /// The answer to the request that writes.
  mutating func posted(_ feed: FeedID, _ id: WriteID, _ answer: Answer, _ url: URL) {
    guard let index = index(feed, id), let wait = writes[feed]?[index].wait else { return }
    defer { sendNext(feed) }
    guard answer.status == 200 || answer.status == 202,
      let written = answer.object.flatMap({ Written($0, feed: feed) })
    else { return drop(feed, index, answer) }
    guard answer.status == 202, wait > 0, let offset = written.offset else {
      return finish(feed, index, written, isPublished: answer.status == 200)
    }
    writes[feed]?[index].phase = .asking
    writes[feed]?[index].written = written
    let query = "?partition=\(written.partition)&offset=\(offset)"
    let url = URL(string: url.absoluteString + query) ?? url
    begin(.outcome(feed, id), Call(method: "GET", url: url, wait: wait))
    refresh(feed)
  }

  /// The answer to the request for the outcome. Without one, the write is as it was.
  mutating func learned(_ feed: FeedID, _ id: WriteID, _ answer: Answer) {
    guard let index = index(feed, id), let known = writes[feed]?[index].written else { return }
    defer { sendNext(feed) }
    if answer.status == 412 || answer.status == 422 { return drop(feed, index, answer) }
    let outcome = answer.status == 200 ? answer.object.flatMap { Written($0, feed: feed) } : nil
    finish(feed, index, outcome ?? known, isPublished: outcome != nil)
  }

  private mutating func finish(_ feed: FeedID, _ index: Int, _ written: Written, isPublished: Bool) {
    writes[feed]?[index].phase = .done
    writes[feed]?[index].written = written
    writes[feed]?[index].isPublished = isPublished
    for name in writes[feed]?[index].names ?? [] { add(.finish(name, .success(written))) }
    refresh(feed)
    forgetWrites(feed)
  }

  /// A write was rejected, or has failed: it is not shown any more.
  private mutating func drop(_ feed: FeedID, _ index: Int, _ answer: Answer) {
    let error: any Error
    let problem = answer.problem
    if let status = answer.status, (400..<500).contains(status) {
      error = WriteRejected(code: problem.code, message: problem.detail)
    } else {
      let code = answer.status == nil || problem.code == "\(problem.status)" ? nil : problem.code
      error = WriteFailed(code: code, message: problem.detail, wasSent: answer.wasSent)
    }
    for name in writes[feed]?.remove(at: index).names ?? [] { add(.finish(name, .failure(error))) }
    refresh(feed)
  }

  /// Writes that are not finished fail.
  mutating func dropWrites(_ message: String) {
    // Accepted, or without an answer: then it may be published.
    var sent: Set<WriteID> = []
    for (number, exchange) in exchanges {
      switch exchange.purpose {
      case .patch: continue
      case .post(_, let id): if exchange.request.map({ requests[$0] != nil }) ?? false { sent.insert(id) }
      case .outcome(_, let id): sent.insert(id)
      }
      if let request = exchange.request { abort(request) }
      exchanges[number] = nil
    }
    let dropped = writes
    writes = [:]
    for write in dropped.values.joined() where write.phase != .done {
      let error = WriteFailed(message: message, wasSent: sent.contains(write.names[0]))
      for name in write.names { add(.finish(name, .failure(error))) }
    }
  }

  /// Forgets writes that are over and that nothing shows.
  mutating func forgetWrites(_ feed: FeedID) {
    guard let known = writes[feed] else { return }
    let followed = follows.filter { $0.value.feed == feed && $0.value.listeners > 0 }
    let kept = known.filter { write in
      var write = write
      return write.phase != .done
        || followed.contains { write.isShown(in: $1, $0, liveTime: $1.liveTime(now)).isShown }
    }
    if kept.count < known.count { writes[feed] = kept.isEmpty ? nil : kept }
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
