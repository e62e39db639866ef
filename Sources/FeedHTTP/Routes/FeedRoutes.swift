import Feed
import FeedClient
import FeedDaemon
import Service

/// The routes for feeds, their streams, and rejected records (docs/http.md).
struct FeedRoutes: Sendable {
  let feeds: ServedFeeds
  let listing: FeedListing
  let streams: FeedStreams
  let rejections: @Sendable () -> RecentRejections

  private static let json = ["application/json"]
  private static let defaultLimit = 100
  private static let retryAfterSeconds = 1

  /// Adds the routes under `/v1`.
  func add(to router: inout HTTPRouter) {
    router.add(.get, "/v1/feeds", produces: Self.json) { request in
      limited(request, to: 1000) { list(request, limit: $0) }
    }
    router.add(.get, "/v1/feeds/{feed}", produces: Self.json) { state($0) }
    router.add(.get, "/v1/feeds/{feed}/changes", produces: ["text/event-stream"]) { changes($0) }
    router.add(.get, "/v1/rejected", produces: Self.json) { request in
      limited(request, to: RecentRejections.limit) {
        FeedDocuments.response(FeedDocuments.RejectedList(rejections(), limit: $0))
      }
    }
  }

  /// Answers with at most as many elements as the request asks for.
  private func limited(_ request: HTTPRequest, to most: Int, _ answer: (Int) -> HTTPResponse) -> HTTPResponse
  {
    guard let text = request.queryValue("limit") else { return answer(Self.defaultLimit) }
    guard let number = Int(text), (1...most).contains(number) else {
      return .problem(
        status: 400,
        code: "invalid-parameter",
        detail: "limit is \(text.debugDescription); allowed: 1 to \(most)"
      )
    }
    return answer(number)
  }

  private func list(_ request: HTTPRequest, limit: Int) -> HTTPResponse {
    let search = request.queryValue("search")
    let page = listing.page(after: request.queryValue("after"), search: search, limit: limit)
    var next: String?
    if page.hasMore, let last = page.feeds.last {
      var parts = ["after=" + PercentEncoding.encode(last.feed), "limit=\(limit)"]
      if let search { parts.append("search=" + PercentEncoding.encode(search)) }
      next = "/v1/feeds?" + parts.joined(separator: "&")
    }
    return FeedDocuments.response(
      FeedDocuments.FeedList(
        standing: FeedDocuments.name(feeds.standing),
        count: page.count,
        feeds: page.feeds.map(FeedDocuments.FeedEntry.init),
        next: next
      )
    )
  }

  private func state(_ request: HTTPRequest) -> HTTPResponse {
    let feed = ByteText(request.parameters["feed"] ?? "")
    switch feeds.place(of: feed) {
    case .here(.mustRefetch):
      return unavailable(
        code: "stale",
        "the feed is stale, because changesets are missing; it is served again after its next reload"
      )
    case .here:
      guard let description = feeds.client.description(of: feed.string) else { return unknown(feed) }
      // Answered before encoding anything, if the client already has this version.
      let version = FeedVersion(description).text
      if request.isKnown(entityTag: version) { return .unchanged(entityTag: version) }
      guard let current = feeds.reloads.current(of: feed) else { return unknown(feed) }
      guard feeds.reloads.makeRoom(for: current.reload) else { return tooMuch }
      var response = HTTPResponse(
        contentType: "application/json",
        content: current.reload.document,
        entityTag: current.reload.version.text
      )
      response.cacheControl = "no-cache"
      response.onTransfer = { [reload = current.reload] in reload.lend(to: $0, byteCount: $1) }
      return response
    case .elsewhere(let partition): return moved(feed, partition)
    case .notYet: return restoring
    case .nowhere: return unknown(feed)
    }
  }

  private func changes(_ request: HTTPRequest) -> HTTPResponse {
    let feed = ByteText(request.parameters["feed"] ?? "")
    let version = request.header("Last-Event-ID").flatMap { FeedVersion($0) }
    let stream = HTTPResponse.events { [streams] stream in streams.add(stream, to: feed, after: version) }
    switch feeds.place(of: feed) {
    case .here: return stream
    // A browser's EventSource would give up, although the feed may be created again.
    case .nowhere where version.map { streams.hasDeletion(of: feed, after: $0) } == true: return stream
    case .elsewhere(let partition): return moved(feed, partition)
    case .notYet: return restoring
    case .nowhere: return unknown(feed)
    }
  }

  // MARK: Feeds that are not served here

  private func unknown(_ feed: ByteText) -> HTTPResponse {
    let numbers = feeds.partitions.sorted().map { String($0) }.joined(separator: ", ")
    let place = numbers.isEmpty ? "no partitions" : "the partitions \(numbers)"
    return .problem(
      status: 404,
      code: "unknown-feed",
      detail: """
        this instance knows of no feed \(feed.string.debugDescription); it has \(place), and other \
        instances serve the feeds of other partitions
        """
    )
  }

  private func moved(_ feed: ByteText, _ partition: Int32) -> HTTPResponse {
    let url = feeds.moved.url(of: partition)
    var response = HTTPResponse.problem(
      status: 410,
      code: "moved",
      detail: """
        the feed \(feed.string.debugDescription) is in partition \(partition), which another instance serves now\
        \(url.map { ", at " + $0 } ?? "")
        """,
      members: url.map { ["url": $0] } ?? [:]
    )
    if let url {
      response.headers = [HTTPField("Location", "\(url)/v1/feeds/\(PercentEncoding.encode(feed.string))")]
    }
    return response
  }

  private var tooMuch: HTTPResponse {
    unavailable(code: "too-much-waits", "too many bytes are queued for slow readers; try again later")
  }

  private var restoring: HTTPResponse {
    unavailable(code: "restoring", "feeds are being restored, or partitions assigned; try again later")
  }

  private func unavailable(code: String, _ detail: String) -> HTTPResponse {
    var response = HTTPResponse.problem(status: 503, code: code, detail: detail)
    response.headers = [HTTPField("Retry-After", String(Self.retryAfterSeconds))]
    return response
  }
}
