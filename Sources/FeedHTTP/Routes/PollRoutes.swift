import Feed
import FeedClient
import HTTP
import OperatingSystem

/// Changes as lines of JSON, one response at a time, which caches can share (docs/poll.md).
extension FeedRoutes {
  /// Waiting requests end at multiples of this, so that readers who came at different times share the next address.
  private static let intervalMilliseconds: Int64 = 30_000
  /// Long enough for the requests that a cache holds back until it has a response.
  private static let briefly = "public, max-age=1"

  private struct Poll: Sendable {
    /// Without its header fields: the response is for all that wait at its address.
    var request: HTTPRequest
    /// Its version is nil for the feed's state.
    var asked: FeedRequest
    let isPublic: Bool

    /// The header with the next address, relative to this one.
    func next(after version: FeedVersion?, cursor: Int64? = nil) -> HTTPField {
      var fields = [HTTPField("after", version?.text ?? "")]
      fields += request.query.filter { !["after", "cursor", "wait"].contains($0.name) }
      if let cursor { fields.append(HTTPField("cursor", "\(cursor)")) }
      let query = fields.map { $0.name + "=" + PercentEncoding.encode($0.value) }.joined(separator: "&")
      return HTTPField("Link", "<?\(query)>; rel=\"next\"")
    }

    /// - Parameter age: says how long caches may keep the response, if everyone may read the feed.
    func cached(_ response: HTTPResponse, _ age: String, _ next: HTTPField? = nil) -> HTTPResponse {
      var response = response
      response.cacheControl = isPublic ? age : "no-store"
      response.varies = isPublic ? "Accept-Encoding" : "Accept-Encoding, Authorization"
      if let next { response.headers.append(next) }
      return response
    }
  }

  func poll(_ request: HTTPRequest, after text: String) throws -> HTTPResponse {
    try request.checkQuery("after", "partition", "sections", "first", "from", "count", "cursor", "wait")
    var poll = Poll(request: request, asked: try asked(request), isPublic: isPublic(request))
    poll.request.headers = []
    poll.asked.version = FeedVersion(text)
    guard text.isEmpty || poll.asked.version != nil else {
      throw invalidParameter("after is \(text.debugDescription); expected EPOCH@REVISION, or nothing")
    }
    guard let cursor = UInt32(request.queryValue("cursor") ?? "0"),
      ["0", nil].contains(request.queryValue("wait"))
    else { throw invalidParameter("cursor is a number from the header Link, and wait can only be 0") }
    let attempt: @Sendable () -> HTTPResponse? = { [poll] in giving(poll) { try answer(poll) } }
    if let response = attempt() { return response }
    let empty = HTTPResponse(contentType: Self.jsonLines, content: HTTPContent(""))
    let version = poll.asked.version
    guard request.queryValue("wait") == nil else {
      return poll.cached(empty, Self.briefly, poll.next(after: version))
    }
    let refusal = giving(poll) {
      try checkWindows(of: [poll.asked], request.rights)
      return nil
    }
    if let refusal { return refusal }
    let now = WallClock.milliseconds()
    let (interval, passed) = now.quotientAndRemainder(dividingBy: Self.intervalMilliseconds)
    // Never an earlier address, even if the clock was set back: a cache may still have its response.
    let next = poll.next(after: version, cursor: max(interval, Int64(cursor)) + 1)
    var (address, rest) = (next.value, Self.intervalMilliseconds - passed)
    var otherwise = poll.cached(empty, "public, max-age=5", next)
    if !poll.isPublic, let expires = request.rights.expires, expires - now < rest {
      (address, rest) = ("\(address) \(expires)", expires - now)
      otherwise = HTTPRefusal.tokenExpired.response
    }
    let end = MonotonicClock.milliseconds() + rest
    let isWindow = poll.asked.window != nil
    let group = ChangePolls.Group(isWindow: isWindow, attempt: attempt, otherwise: otherwise, end: end)
    return .later { [streams, feed = poll.asked.feed, address] in
      streams.polls.add($0, to: group, of: feed, at: address)
      streams.lookSignal.yield()
    }
  }

  /// The response, or that to an error.
  private func giving(_ poll: Poll, _ answer: () throws -> HTTPResponse?) -> HTTPResponse? {
    do {
      return try answer()
    } catch {
      let refusal = error as? any HTTPRefusing ?? HTTPRefusal(500, "internal", "\(error)")
      return poll.cached(refusal.response, Self.briefly)
    }
  }

  /// The response; nil if there are no changes yet.
  private func answer(_ poll: Poll) throws -> HTTPResponse? {
    let (request, asked) = (poll.request, poll.asked)
    var poll = poll
    let found = try find(request)
    guard let feed = try found?.feed ?? deleted(request, asked) else { throw unknown(request) }
    // The next addresses choose the partition.
    let isAmbiguous = found?.isAmbiguous == true
    if let number = feed.partition, isAmbiguous {
      poll.request.query.append(HTTPField("partition", "\(number)"))
    }
    let refetch = poll.next(after: nil)
    var (response, age) = (HTTPResponse(status: 200), Self.briefly)
    if let version = asked.version {
      // Without a choice of the partition, the version could belong to another feed.
      guard !isAmbiguous, let (lines, reached) = streams.changes(of: feed, after: version) else {
        let detail = "the changes after this version are not known; take the feed's state, with after="
        throw HTTPRefusal(409, "must-refetch", detail, headers: [refetch])
      }
      guard let reached else { return nil }
      age = "public, max-age=10, stale-while-revalidate=10"
      (response.content, response.entityTag) = (lines, reached.text)
      response.headers = found?.headers ?? []
    }
    // A window has its state in place of changes: it would have to stay open between the requests.
    if asked.version == nil || asked.window != nil { response = try state(poll.request, asked.window) }
    response.contentType = response.content.map { _ in Self.jsonLines }
    response.headers.removeAll { $0.name == "Feedstore-Writable" }
    let next = response.entityTag.flatMap { FeedVersion($0) }.map { poll.next(after: $0) }
    return poll.cached(response, age, next ?? refetch)
  }
}
