import Feed
import FeedClient
import HTTP
import OperatingSystem

/// Changes as lines of JSON, one response at a time, which caches can share (docs/poll.md).
///
/// Every answer names the address of the next one, so that all readers ask for the same.
extension FeedRoutes {
  /// All waiting requests end at multiples of this, so that readers who came at different times share the next address.
  private static let intervalMilliseconds: Int64 = 30_000
  private static let mostCursor: Int64 = 1 << 53

  /// How long caches may keep a response for a public feed.
  private enum Age {
    /// It is valid for good, but a later one leads further.
    static let changes = "public, max-age=10, stale-while-revalidate=10"
    static let nothing = "public, max-age=5"
    /// Long enough for the requests that a cache holds back meanwhile.
    static let stateOrProblem = "public, max-age=1"
  }

  /// A request for the changes after a version.
  private struct Poll: Sendable {
    let request: HTTPRequest
    /// Its version is nil for the feed's state.
    let asked: FeedRequest
    let isPublic: Bool

    /// The header with the next address, which is relative to this one.
    func next(after version: FeedVersion?, partition: Int32? = nil, cursor: Int64? = nil) -> HTTPField {
      var fields = [HTTPField("after", version?.text ?? "")]
      fields += request.query.filter { !["after", "cursor", "wait"].contains($0.name) }
      if let partition, asked.partition == nil { fields.append(HTTPField("partition", "\(partition)")) }
      if let cursor { fields.append(HTTPField("cursor", "\(cursor)")) }
      let query = fields.map { $0.name + "=" + PercentEncoding.encode($0.value) }.joined(separator: "&")
      return HTTPField("Link", "<?\(query)>; rel=\"next\"")
    }

    func cached(_ response: HTTPResponse, _ age: String) -> HTTPResponse {
      var response = response
      if isPublic { response.cacheControl = age }
      response.varies = isPublic ? "Accept-Encoding" : "Accept-Encoding, Authorization"
      return response
    }

    /// - Parameter next: the header with the next address.
    func lines(_ content: HTTPContent, tag: String? = nil, _ next: HTTPField, _ age: String) -> HTTPResponse {
      var response = HTTPResponse(contentType: "application/x-ndjson", content: content, entityTag: tag)
      response.headers = [next]
      return cached(response, age)
    }
  }

  func poll(_ request: HTTPRequest, after text: String) throws -> HTTPResponse {
    try request.checkQuery("after", "partition", "sections", "first", "from", "count", "cursor", "wait")
    var asked = try asked(request)
    asked.partition = try partition(of: request)
    asked.version = FeedVersion(text)
    guard text.isEmpty || asked.version != nil else {
      throw invalidParameter("after is \(text.debugDescription); expected EPOCH@REVISION, or nothing for the state")
    }
    let cursor = Int64(request.queryValue("cursor") ?? "0") ?? -1
    guard (0...Self.mostCursor).contains(cursor) else {
      throw invalidParameter("cursor is not a number from 0 to \(Self.mostCursor); take it from the header Link")
    }
    guard request.queryValue("wait") ?? "0" == "0" else {
      throw invalidParameter("wait can only be 0, for a response at once")
    }
    if asked.window != nil { try checkWindows(of: [asked], request.rights) }
    let poll = Poll(request: request, asked: asked, isPublic: publicFeeds.match(asked.feed.string))
    let attempt: @Sendable () -> HTTPResponse? = {
      do {
        return try answer(poll)
      } catch {
        let problem = (error as? any HTTPRefusing)?.response
        return poll.cached(problem ?? .problem(status: 500, code: "internal", detail: "\(error)"), Age.stateOrProblem)
      }
    }
    if let response = attempt() { return response }
    let nothing = HTTPContent("")
    guard request.queryValue("wait") == nil else {
      return poll.lines(nothing, poll.next(after: asked.version), Age.stateOrProblem)
    }
    let (interval, passed) = WallClock.milliseconds().quotientAndRemainder(dividingBy: Self.intervalMilliseconds)
    // Never an earlier address, even if the clock was set back: a cache may still have its response.
    let next = poll.next(after: asked.version, cursor: max(interval, cursor) + 1)
    let group = ChangePolls.Group(
      attempt: attempt,
      empty: poll.lines(nothing, next, Age.nothing),
      end: MonotonicClock.milliseconds() + Self.intervalMilliseconds - passed
    )
    let address = request.query.map { "\($0.name)=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
    return .later { [streams, feed = asked.feed] response in
      let expires = poll.isPublic ? nil : request.rights.expires
      streams.polls.add(.init(response: response, expires: expires), of: feed, at: address, group)
      streams.lookSignal.yield()
    }
  }

  /// The response; nil if there are no changes yet.
  private func answer(_ poll: Poll) throws -> HTTPResponse? {
    let (request, asked) = (poll.request, poll.asked)
    let found = try find(request)
    if let found { try checkStanding(found.description) }
    let after = found?.isAmbiguous == true ? nil : asked.version
    guard let feed = try found?.feed ?? deleted(request, asked, after: after) else { throw unknown(request) }
    let view = ViewAddress(feed, asked.window)
    let partition = found?.isAmbiguous == true ? feed.partition : nil
    var response: HTTPResponse
    if asked.version == nil {
      let reload = try reload(of: view, request)
      let (tag, next) = (reload.version.text, poll.next(after: reload.version, partition: partition))
      response = poll.lines(reload.document, tag: partition == nil ? tag : nil, next, Age.stateOrProblem)
      response.onTransfer = { reload.lend(to: $0, byteCount: $1) }
    } else {
      if found != nil, view.window != nil { streams.keepOpen(view) }
      guard let after, let changes = streams.changes(of: view, after: after) else {
        let detail = "the changes after this version are not known (any more); take the feed's state, with after="
        throw HTTPRefusal(409, "must-refetch", detail, headers: [poll.next(after: nil, partition: partition)])
      }
      guard let version = changes.version else { return nil }
      let content = HTTPContent(changes.lines)
      response = poll.lines(content, tag: version.text, poll.next(after: version), Age.changes)
    }
    response.headers += found?.headers.filter { $0.name != "Feedstore-Writable" } ?? []
    return response
  }
}
