import Feed
import FeedClient
import FeedConfiguration
import FeedStatus
import HTTP

/// The routes for feeds, their streams, and rejected records (docs/http.md).
struct FeedRoutes: Sendable {
  let feeds: ServedFeeds
  let listing: FeedListing
  let streams: FeedStreams
  /// Writes the clients' events; nil if writing is off.
  let writer: EventWriter?
  let rejections: @Sendable () -> RecentRejections
  private static let json = ["application/json"]
  static let jsonLines = "application/x-ndjson"
  private static let defaultLimit = 100

  /// Adds the routes under `/v1`.
  func add(to router: inout HTTPRouter) {
    let (json, stream) = (Self.json, ["text/event-stream"])
    let contentBytes = streams.limits.maxRequestBytes
    router.add("/v1/feeds", produces: json) { try list($0) }
    router.add("/v1/feeds/{feed}", produces: json) { try state($0) }
    router.add("/v1/feeds/{feed}/changes", produces: stream + [Self.jsonLines]) { try changes($0) }
    router.add("/v1/streams", method: .post, produces: stream, contentBytes: contentBytes) { try open($0) }
    router.add("/v1/streams/{stream}", method: .patch, produces: json, contentBytes: contentBytes) {
      try change($0)
    }
    router.add("/v1/feeds/{feed}/events", method: .post, produces: json, contentBytes: contentBytes) {
      try write($0)
    }
    router.add("/v1/feeds/{feed}/events", produces: json) { try outcome($0) }
    router.add("/v1/contents/{content}", method: .post, produces: json, contentBytes: contentBytes) {
      try writeContent($0, $0.content)
    }
    router.add("/v1/contents/{content}", method: .delete, produces: json) { try writeContent($0, nil) }
    router.add("/v1/rejected", produces: json) { try listRejected($0) }
  }

  private func listRejected(_ request: HTTPRequest) throws -> HTTPResponse {
    guard request.rights.readsAll else { throw HTTPRefusal.forbidden }
    try request.checkQuery("limit")
    let limit = try limit(of: request, atMost: RecentRejections.limit)
    // Newest first.
    let newest = rejections().entries.suffix(limit).reversed().map { JSONObject($0) }
    return (["rejected": newest] as JSONObject).response
  }

  private func list(_ request: HTTPRequest) throws -> HTTPResponse {
    try request.checkQuery("limit", "after", "search", "partition")
    let limit = try limit(of: request, atMost: 1000)
    let search = request.queryValue("search")
    let page = listing.page(
      request.rights,
      after: request.queryValue("after"),
      partition: try partition(of: request),
      search: search,
      limit: limit
    )
    var next: String?
    if page.hasMore, let last = page.feeds.last {
      var parts = ["after=" + PercentEncoding.encode(last.feed), "limit=\(limit)"]
      if !feeds.otherPartitions(last).isEmpty { parts.append("partition=\(last.partition)") }
      if let search { parts.append("search=" + PercentEncoding.encode(search)) }
      next = "/v1/feeds?" + parts.joined(separator: "&")
    }
    let document: JSONObject = [
      "standing": feeds.standing.name,
      "count": page.count,
      "feeds": page.feeds.map {
        JSONObject(
          $0,
          otherPartitions: feeds.otherPartitions($0),
          isWritable: isWritable($0.feed, request)
        )
      },
      "next": next,
    ]
    return document.response
  }

  private func isWritable(_ feed: String, _ request: HTTPRequest) -> Bool {
    writer != nil && request.rights.mayWrite(feed)
  }

  // MARK: Parameters

  /// The number of requested elements.
  private func limit(of request: HTTPRequest, atMost most: Int) throws -> Int {
    guard let text = request.queryValue("limit") else { return Self.defaultLimit }
    guard let number = Int(text), (1...most).contains(number) else {
      throw invalidParameter("limit is \(text.debugDescription); allowed: 1 to \(most)")
    }
    return number
  }

  /// The requested partition; nil if the request names none.
  func partition(of request: HTTPRequest) throws -> Int32? {
    guard let text = request.queryValue("partition") else { return nil }
    guard let number = Int32(text), number >= 0 else {
      throw invalidParameter("partition is \(text.debugDescription); expected a number from 0")
    }
    return number
  }

  func invalidParameter(_ detail: String) -> HTTPRefusal {
    HTTPRefusal(400, "invalid-parameter", detail)
  }

  private func lastVersion(_ request: HTTPRequest) -> FeedVersion? {
    // A browser repeats the parameter when it reconnects.
    (request.header("Last-Event-ID") ?? request.queryValue("lastEventId")).flatMap { FeedVersion($0) }
  }

  // MARK: One feed

  /// A feed that this instance serves.
  struct Found {
    let feed: FeedAddress
    let description: FeedDescription
    /// Further partitions with a feed of the same id.
    let others: [Int32]
    /// Whether the client's version may belong to another partition's feed, because it chose no partition.
    let isAmbiguous: Bool
    let headers: [HTTPField]
  }

  /// Checks rights first, so that neither the answer nor its time reveals whether a feed exists.
  private func checkRights(_ request: HTTPRequest) throws {
    guard request.rights.mayRead(request.parameters["feed"] ?? "") else { throw HTTPRefusal.forbidden }
  }

  /// The feed in a request; nil if it does not exist.
  func find(_ request: HTTPRequest) throws -> Found? {
    let id = ByteText(request.parameters["feed"] ?? "")
    let partition = try partition(of: request)
    switch feeds.location(of: id, in: partition) {
    case .here(let description):
      let others = feeds.otherPartitions(description)
      var headers = [HTTPField("Feedstore-Partition", String(description.partition))]
      if !others.isEmpty {
        headers.append(HTTPField("Feedstore-Other-Partitions", SharedIDs.list(others)))
      }
      if isWritable(id.string, request) { headers.append(HTTPField("Feedstore-Writable", "true")) }
      return Found(
        feed: FeedAddress(description.partition, id),
        description: description,
        others: others,
        isAmbiguous: partition == nil && !others.isEmpty,
        headers: headers
      )
    case .elsewhere(let partition): throw moved(id, partition)
    case .notYet:
      let detail = "feeds are being restored, or partitions assigned; try again later"
      throw HTTPRefusal.unavailable("restoring", detail)
    case .nowhere: return nil
    }
  }

  private func state(_ request: HTTPRequest) throws -> HTTPResponse {
    try checkRights(request)
    try request.checkQuery("partition", "sections", "first", "from", "count")
    var response = try state(request, asked(request).window)
    if isPublic(request), response.entityTag != nil { response.cacheControl = "public, no-cache" }
    // For the header that says whether the client may write.
    response.varies += ", Authorization"
    return response
  }

  /// Whether everyone may read the feed.
  func isPublic(_ request: HTTPRequest) -> Bool {
    streams.limits.server.publicFeeds?.match(request.parameters["feed"] ?? "") == true
  }

  func state(_ request: HTTPRequest, _ window: FeedWindow?) throws -> HTTPResponse {
    guard let found = try find(request) else { throw unknown(request) }
    guard found.description.standing != .mustRefetch else {
      throw HTTPRefusal.unavailable(
        "stale",
        "the feed is stale, because changesets are missing; it is served again after its next reload"
      )
    }
    // Answered before encoding anything, if the client already has this version.
    let version = FeedVersion(found.description).text
    var response: HTTPResponse
    if !found.isAmbiguous, request.isKnown(entityTag: version) {
      response = .unchanged(entityTag: version)
    } else {
      guard let reload = feeds.reloads.current(of: ViewAddress(found.feed, window))?.reload else {
        throw unknown(request)
      }
      guard feeds.reloads.makeRoom(for: reload) else {
        let detail = "too many bytes are queued for slow readers; try again later"
        throw HTTPRefusal.unavailable("too-much-waits", detail)
      }
      let tag = found.isAmbiguous ? nil : reload.version.text
      response = HTTPResponse(contentType: "application/json", content: reload.document, entityTag: tag)
      if !found.isAmbiguous { response.cacheControl = "no-cache" }
      response.onTransfer = { reload.lend(to: $0, byteCount: $1) }
    }
    response.headers = found.headers
    return response
  }

  /// The requested view of a feed, without its partition.
  func asked(_ request: HTTPRequest) throws -> FeedRequest {
    do throws(ContentFault) {
      return try RequestedFeed(request).request(maxItems: streams.limits.maxWindowItems)
    } catch {
      throw invalidParameter(error.detail)
    }
  }

  private func changes(_ request: HTTPRequest) throws -> HTTPResponse {
    try checkRights(request)
    if let after = request.queryValue("after") { return try poll(request, after: after) }
    try request.checkQuery("partition", "sections", "first", "from", "count", "lastEventId", "after")
    guard request.mediaType == "text/event-stream" else {
      throw invalidParameter("application/x-ndjson needs after, which is missing")
    }
    var asked = try asked(request)
    try checkWindows(of: [asked], request.rights)
    let version = lastVersion(request)
    guard let found = try find(request) else {
      // Other codes would stop a browser's EventSource for good, although the feed may be created again.
      asked.version = version
      guard let feed = try deleted(request, asked) else { throw unknown(request) }
      return .events { [streams, asked] stream in streams.open(stream, asked, at: feed) }
    }
    asked.version = found.isAmbiguous ? nil : version
    var response = HTTPResponse.events { [streams, asked] stream in
      streams.open(stream, asked, at: found.feed, besides: found.others)
    }
    response.headers += found.headers
    return response
  }

  /// The feed whose deletion follows on the client's version; nil if there is none.
  func deleted(_ request: HTTPRequest, _ asked: FeedRequest) throws -> FeedAddress? {
    guard let version = asked.version else { return nil }
    let partitions = try partition(of: request).map { [$0] } ?? feeds.partitions.sorted()
    return partitions.lazy.map { FeedAddress($0, asked.feed) }.first {
      streams.hasDeletion(of: $0, after: version)
    }
  }

  // MARK: Streams of many feeds

  private func open(_ request: HTTPRequest) throws -> HTTPResponse {
    let content: StreamOpening = try ContentFault.decode(request.content)
    let requests = try requests(content.feeds, in: "feeds")
    try checkWindows(of: requests, request.rights)
    return .events { [streams] stream in streams.open(stream, requests) }
  }

  private func change(_ request: HTTPRequest) throws -> HTTPResponse {
    let id = request.parameters["stream"] ?? ""
    let content: StreamAlteration = try ContentFault.decode(request.content)
    let added = try requests(content.add, in: "add")
    let removed = try requests(content.remove, in: "remove")
    try checkWindows(of: added, request.rights)
    let change = try streams.change(id, request.rights, removing: removed, adding: added)
    guard let change else {
      throw HTTPRefusal(404, "unknown-stream", "this instance has no open stream \(id)")
    }
    let document: JSONObject = [
      "added": change.added,
      "changed": change.changed,
      "removed": change.removed,
    ]
    return document.response
  }

  private func requests(
    _ feeds: [RequestedFeed],
    in member: String
  ) throws(ContentFault) -> [FeedRequest] {
    let limits = streams.limits
    guard feeds.count <= limits.maxFeedsPerStream else {
      throw ContentFault(member, "has \(feeds.count) feeds; allowed: \(limits.maxFeedsPerStream)")
    }
    var requests: [FeedRequest] = []
    var views: Set<ViewID> = []
    for (index, feed) in feeds.enumerated() {
      do throws(ContentFault) {
        let request = try feed.request(maxItems: limits.maxWindowItems)
        guard views.insert(request.viewID).inserted else {
          throw ContentFault("feed", "was given before\(request.viewName == nil ? "" : " with this view")")
        }
        requests.append(request)
      } catch {
        throw error.within("\(member)[\(index)]")
      }
    }
    return requests
  }

  func checkWindows(of requests: [FeedRequest], _ rights: AccessRights) throws {
    guard !streams.admits(requests, rights) else { return }
    throw HTTPRefusal.unavailable(
      "too-many-windows",
      "\(streams.limits.maxWindows) different windows may be open (http.maxWindows); try again later"
    )
  }

  // MARK: Feeds that are not served here

  func unknown(_ request: HTTPRequest) -> HTTPRefusal {
    let feed = request.parameters["feed"] ?? ""
    let numbers = feeds.partitions.sorted().map { String($0) }.joined(separator: ", ")
    let place = numbers.isEmpty ? "no partitions" : "the partitions \(numbers)"
    return HTTPRefusal(
      404,
      "unknown-feed",
      """
      this instance knows of no feed \(feed.debugDescription); it has \(place), and other instances serve the \
      feeds of other partitions
      """
    )
  }

  private func moved(_ feed: ByteText, _ partition: Int32) -> HTTPRefusal {
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
      let path = "/v1/feeds/\(PercentEncoding.encode(feed.string))?partition=\(partition)"
      response.headers = [HTTPField("Location", url + path)]
    }
    return HTTPRefusal(response)
  }
}
