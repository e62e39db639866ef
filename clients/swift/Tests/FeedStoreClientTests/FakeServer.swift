import Foundation

@testable import FeedStoreClient

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An instance that follows docs/http.md for whole feeds and, by a reload for each change, for windows. The test decides when each
/// changeset is published, and which faults occur.
final class FakeServer: @unchecked Sendable {
  struct Request: Sendable {
    let method: String
    let path: String
    let headers: [String: String]
    let body: String
  }

  typealias Response = (status: Int, body: String, headers: [String])

  private let lock = NSRecursiveLock()
  private let listener: Int32
  private var feeds: [String: FakeFeed] = [:]
  private var streams: [String: FakeStream] = [:]
  private var connections: Set<Int32> = []
  private var number = 0
  private let requestsContinuation: AsyncStream<Request>.Continuation
  /// Each request, in the order in which they arrive, and `CLOSED` when a client has closed a stream.
  let requests: AsyncStream<Request>
  let url: URL
  /// Answers requests in place of the server; nil to let it answer.
  private var interception: (@Sendable (Request) -> Response?)?

  init() {
    #if canImport(Darwin)
      let type = SOCK_STREAM
    #else
      let type = Int32(SOCK_STREAM.rawValue)
    #endif
    let listener = socket(AF_INET, type, 0)
    self.listener = listener
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        precondition(bind(listener, address, size) == 0 && listen(listener, 64) == 0, "no port")
        getsockname(listener, address, &size)
      }
    }
    url = URL(string: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))")!
    (requests, requestsContinuation) = AsyncStream.makeStream(of: Request.self)
    Thread.detachNewThread { [self] in accept() }
  }

  func close() {
    lock.withLock {
      shutdown(listener, Int32(SHUT_RDWR))
      cut()
    }
    requestsContinuation.finish()
  }

  // What a test does.

  func intercept(_ answer: (@Sendable (Request) -> Response?)?) { lock.withLock { interception = answer } }

  /// Adds changesets to publish later.
  func add(_ history: [PublishedChangeset]) {
    lock.withLock {
      for changeset in history { feeds[changeset.feed, default: FakeFeed()].coming.append(changeset) }
    }
  }

  func remaining(_ feed: String) -> Int { lock.withLock { feeds[feed]?.coming.count ?? 0 } }

  /// Publishes the next changeset of a feed. Without `sends`, its followers miss it.
  func publish(_ feed: String, sends: Bool = true) {
    lock.withLock {
      guard let changeset = feeds[feed]?.coming.first else { return }
      feeds[feed]?.coming.removeFirst()
      feeds[feed]?.published.append(changeset)
      guard sends else { return }
      for (id, stream) in streams {
        guard let window = stream.windows[feed] else { continue }
        if window != .all, changeset.state != nil {
          begin(id, feed, version: nil)
        } else {
          send(id, changeset.texts.map { "data: \($0)\n\n" }.joined())
          if changeset.state == nil || changeset.isReload { sendUpToDate(id, feed) }
        }
      }
    }
  }

  /// Cuts all connections within their responses.
  func cut() {
    lock.withLock {
      streams = [:]
      for connection in connections { shutdown(connection, Int32(SHUT_RDWR)) }
    }
  }

  /// Sends an event to all streams.
  func say(_ name: String, _ data: String) {
    lock.withLock { for id in streams.keys { send(id, "event: \(name)\ndata: \(data)\n\n") } }
  }

  /// Forgets a feed, as if its partition had moved.
  func lose(_ feed: String, to url: URL?) {
    lock.withLock {
      feeds[feed] = nil
      let url = url.map { ",\"url\":\"\($0.absoluteString)\"" } ?? ""
      for (id, stream) in streams where stream.windows[feed] != nil {
        send(id, "event: moved\ndata: {\"feed\":\(JSONValue.quoted(feed)),\"partition\":0\(url)}\n\n")
      }
    }
  }

  /// Takes over a feed from another instance.
  func take(_ feed: String, from other: FakeServer) {
    let taken = other.lock.withLock { other.feeds[feed] }
    lock.withLock {
      feeds[feed] = taken
      for id in streams.keys where streams[id]?.windows[feed] != nil { begin(id, feed, version: nil) }
    }
  }

  var streamCount: Int { lock.withLock { streams.count } }

  // The server.

  private struct FakeFeed {
    var coming: [PublishedChangeset] = []
    var published: [PublishedChangeset] = []
  }

  private struct FakeStream {
    let connection: Int32
    var windows: [String: FeedWindow] = [:]
  }

  private func accept() {
    while true {
      #if canImport(Darwin)
        let connection = Darwin.accept(listener, nil, nil)
      #else
        let connection = Glibc.accept(listener, nil, nil)
      #endif
      guard connection >= 0 else { return }
      _ = lock.withLock { connections.insert(connection) }
      Thread.detachNewThread { [self] in
        serve(connection)
        lock.withLock {
          connections.remove(connection)
          for (id, stream) in streams where stream.connection == connection {
            streams[id] = nil
            requestsContinuation.yield(Request(method: "CLOSED", path: id, headers: [:], body: ""))
          }
          #if canImport(Darwin)
            Darwin.close(connection)
          #else
            Glibc.close(connection)
          #endif
        }
      }
    }
  }

  private func serve(_ connection: Int32) {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      while let (request, end) = Self.request(bytes) {
        bytes.removeFirst(end)
        answer(request, connection)
      }
      let count = recv(connection, &piece, piece.count, 0)
      guard count > 0 else { return }
      bytes += piece[..<count]
    }
  }

  private static func request(_ bytes: [UInt8]) -> (Request, end: Int)? {
    guard let head = Data(bytes).range(of: Data("\r\n\r\n".utf8)) else { return nil }
    let lines = String(decoding: bytes[..<head.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(
        in: .whitespaces
      )
    }
    let end = head.upperBound + (headers["content-length"].flatMap(Int.init) ?? 0)
    guard bytes.count >= end else { return nil }
    let words = lines[0].split(separator: " ").map(String.init)
    let body = String(decoding: bytes[head.upperBound..<end], as: UTF8.self)
    return (Request(method: words[0], path: words[1], headers: headers, body: body), end)
  }

  private func answer(_ request: Request, _ connection: Int32) {
    lock.withLock {
      defer { requestsContinuation.yield(request) }
      // Streams have no end of their own.
      defer {
        if request.headers["connection"] == "close", request.path != "/v1/streams" {
          shutdown(connection, Int32(SHUT_WR))
        }
      }
      if let response = interception?(request) {
        respond(connection, response)
      } else if request.method == "POST", request.path == "/v1/streams" {
        open(request, connection)
      } else if request.method == "PATCH", let id = request.path.split(separator: "/").last.map(String.init) {
        guard streams[id] != nil else {
          return respond(connection, (404, "{\"code\":\"unknown-stream\",\"detail\":\"no such stream\"}", []))
        }
        respond(connection, (200, "{}", []))
        change(id, request)
      } else {
        respond(connection, (404, "{\"code\":\"not-found\",\"detail\":\"no such path\"}", []))
      }
    }
  }

  private func respond(_ connection: Int32, _ response: Response) {
    guard response.status != 0 else {
      shutdown(connection, Int32(SHUT_RDWR))
      return
    }
    let head = [
      "HTTP/1.1 \(response.status) X", "Content-Type: application/json",
      "Content-Length: \(response.body.utf8.count)",
    ]
    write(connection, (head + response.headers).joined(separator: "\r\n") + "\r\n\r\n" + response.body)
  }

  private func open(_ request: Request, _ connection: Int32) {
    number += 1
    let id = "stream\(number)"
    write(
      connection,
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    streams[id] = FakeStream(connection: connection)
    send(id, "retry: 20\n\nevent: stream\ndata: {\"stream\":\"\(id)\"}\n\n")
    for entry in JSONObject(try? JSONText(checking: request.body))?["feeds"]?.elements ?? [] {
      follow(id, entry)
    }
  }

  private func change(_ id: String, _ request: Request) {
    let body = JSONObject(try? JSONText(checking: request.body))
    for feed in body?["remove"]?.elements ?? [] { streams[id]?.windows[feed.string ?? ""] = nil }
    for entry in body?["add"]?.elements ?? [] {
      guard let feed = JSONObject(entry)?["feed"]?.string else { continue }
      let wasThere = streams[id]?.windows[feed] != nil
      if wasThere {
        send(
          id,
          "event: must-refetch\ndata: {\"feed\":\(JSONValue.quoted(feed)),\"reason\":\"it was asked for again\"}\n\n"
        )
      }
      follow(id, entry, hasVersion: !wasThere)
    }
  }

  private func follow(_ id: String, _ entry: JSONText, hasVersion: Bool = true) {
    guard let entry = JSONObject(entry), let feed = entry["feed"]?.string else { return }
    streams[id]?.windows[feed] = FeedWindow(
      sections: entry["sections"]?.elements?.map { SectionID($0.string ?? "") },
      first: entry["first"]?.count,
      from: entry["from"]?.count,
      count: entry["count"]?.count
    )
    let version =
      hasVersion ? entry["epoch"].map { "\($0.string ?? "")@\(entry["revision"]?.count ?? 0)" } : nil
    begin(id, feed, version: version)
  }

  /// Sends a stream what it has missed since a version, or the state.
  private func begin(_ id: String, _ feed: String, version: String?) {
    let published = feeds[feed]?.published ?? []
    guard let state = published.last?.state, let window = streams[id]?.windows[feed] else {
      return send(
        id,
        "event: absent\ndata: {\"feed\":\(JSONValue.quoted(feed)),\"reason\":\"unknown-feed\"}\n\n"
      )
    }
    if let version, window == .all, let index = published.firstIndex(where: { $0.version == version }) {
      for changeset in published[(index + 1)...] {
        send(id, changeset.texts.map { "data: \($0)\n\n" }.joined())
      }
    } else {
      let texts = window == .all ? state : [Self.shown(state, window)]
      send(id, texts.map { "data: \($0)\n\n" }.joined())
    }
    sendUpToDate(id, feed)
  }

  private func sendUpToDate(_ id: String, _ feed: String) {
    guard let last = feeds[feed]?.published.last else { return }
    let partition = last.state == nil ? "" : "\"partition\":0,"
    let name = JSONValue.quoted(feed)
    send(
      id,
      "event: up-to-date\ndata: {\"feed\":\(name),\(partition)\"epoch\":\"x\",\"revision\":\(last.revision)}\n\n"
    )
  }

  /// A state as a window has it.
  static func shown(_ state: [String], _ window: FeedWindow) -> String {
    var replica = Replica("")
    let parts = state.compactMap { try? Changeset($0) }
    replica = Replica(parts[0].feed)
    for part in parts { _ = replica.take(part) }
    var drafts: [SectionDraft] = []
    var totals: [String] = []
    for section in replica.view.sections where window.sections?.contains(section.id) ?? true {
      var draft = SectionDraft(section)
      draft.items = Array(section.items.dropFirst(window.from ?? 0).prefix(window.capacity ?? Int.max))
      totals.append(
        "{\"section\":\(JSONValue.quoted(section.id.rawValue)),\"from\":\(window.from ?? 0),"
          + "\"shown\":\(draft.items.count),\"of\":\(section.items.count)}"
      )
      drafts.append(draft)
    }
    let shown = FeedState(drafts: drafts, reusing: FeedState())
    let view = replica.view
    let through = view.through.map { "\(JSONValue.quoted($0.key)):\($0.value)" }.joined(separator: ",")
    return
      "{\"feed\":\(JSONValue.quoted(view.feed.rawValue)),\"epoch\":\(JSONValue.quoted(view.epoch ?? "")),"
      + "\"revision\":\(view.revision ?? 0),\"base\":\(view.revision ?? 0),\"mode\":\"reload\",\"reason\":\"keyframe\","
      + "\"time\":\"\(view.time ?? "")\",\"through\":{\(through)},"
      + "\"checksum\":\"\(hexadecimal(FeedState.checksum(of: shown.sections)))\",\"window\":[\(totals.joined(separator: ","))],"
      + "\"sections\":\(shown.document)}"
  }

  private func send(_ id: String, _ text: String) {
    guard let connection = streams[id]?.connection else { return }
    write(connection, String(text.utf8.count, radix: 16) + "\r\n" + text + "\r\n")
  }

  private func write(_ connection: Int32, _ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      #if canImport(Darwin)
        let count = Darwin.send(connection, Array(bytes), bytes.count, 0)
      #else
        let count = Glibc.send(connection, Array(bytes), bytes.count, Int32(MSG_NOSIGNAL))
      #endif
      // The client has gone.
      guard count > 0 else { return }
      bytes = bytes.dropFirst(count)
    }
  }
}
