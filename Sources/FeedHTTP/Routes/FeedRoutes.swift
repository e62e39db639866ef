import Feed
import FeedClient
import FeedConfiguration
import FeedWorker
import Service

/// The routes for feeds, their streams, and rejected records (docs/http.md).
struct FeedRoutes: Sendable {
  let feeds: ServedFeeds
  let listing: FeedListing
  let streams: FeedStreams
  /// Whether clients may write what their rights allow.
  let takesWrites: Bool
  let rejections: @Sendable () -> RecentRejections

  private static let json = ["application/json"]
  private static let defaultLimit = 100

  /// Adds the routes under `/v1`.
  func add(to router: inout HTTPRouter) {
    router.add("/v1/feeds", produces: Self.json) { request in
      limited(request, to: 1000) { list(request, limit: $0) }
    }
    router.add("/v1/feeds/{feed}", produces: Self.json) { ifReadable($0, state) }
    router.add("/v1/feeds/{feed}/changes", produces: ["text/event-stream"]) { ifReadable($0, changes) }
    let contentBytes = streams.limits.maxRequestBytes
    let stream = ["text/event-stream"]
    router.add("/v1/streams", method: .post, produces: stream, contentBytes: contentBytes) { open($0) }
    router.add("/v1/streams/{stream}", method: .patch, produces: Self.json, contentBytes: contentBytes) {
      change($0)
    }
    router.add("/v1/rejected", produces: Self.json) { request in
      guard request.rights.readsAll else { return .forbidden }
      return limited(request, to: RecentRejections.limit) { limit in
        // The newest ones come first.
        let newest = rejections().entries.suffix(limit).reversed().map { JSONObject($0) }
        return (["rejected": newest] as JSONObject).response
      }
    }
  }

  /// Answers a request for a feed that the client may read. Before anything else, so that the others cannot be told from feeds that
  /// do not exist, not even by the time that it takes.
  private func ifReadable(_ request: HTTPRequest, _ answer: (HTTPRequest) -> HTTPResponse) -> HTTPResponse {
    request.rights.mayRead(request.parameters["feed"] ?? "") ? answer(request) : .forbidden
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
    let after = request.queryValue("after")
    let partition: Int32?
    switch requestedPartition(request) {
    case .success(let number): partition = number
    case .failure(let refusal): return refusal.response
    }
    let search = request.queryValue("search")
    let page = listing.page(request.rights, after: after, partition: partition, search: search, limit: limit)
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
    takesWrites && request.rights.mayWrite(feed)
  }

  private struct Refusal: Error { let response: HTTPResponse }

  /// The parameter `partition`; nil if it is absent.
  private func requestedPartition(_ request: HTTPRequest) -> Result<Int32?, Refusal> {
    guard let text = request.queryValue("partition") else { return .success(nil) }
    if let number = Int32(text), number >= 0 { return .success(number) }
    let detail = "partition is \(text.debugDescription); expected a number from 0"
    return .failure(Refusal(response: .problem(status: 400, code: "invalid-parameter", detail: detail)))
  }

  /// Answers a request for a feed that is served here.
  ///
  /// - Parameter body: its argument tells whether a version that the client has may be one of another partition's feed:
  ///   several have the id, and the client has not chosen one.
  private func feed(
    _ request: HTTPRequest,
    _ body: (FeedDescription, _ others: [Int32], _ isAmbiguous: Bool) -> HTTPResponse,
    orIfNowhere: ((ByteText, _ partition: Int32?) -> HTTPResponse)? = nil
  ) -> HTTPResponse {
    let feed = ByteText(request.parameters["feed"] ?? "")
    let partition: Int32?
    switch requestedPartition(request) {
    case .success(let number): partition = number
    case .failure(let refusal): return refusal.response
    }
    switch feeds.place(of: feed, in: partition) {
    case .here(let description):
      let others = feeds.otherPartitions(description)
      var response = body(description, others, partition == nil && !others.isEmpty)
      response.headers.append(HTTPField("Feedstore-Partition", String(description.partition)))
      if !others.isEmpty {
        response.headers.append(HTTPField("Feedstore-Other-Partitions", SharedIDs.list(others)))
      }
      if isWritable(feed.string, request) { response.headers.append(HTTPField("Feedstore-Writable", "true")) }
      return response
    case .elsewhere(let partition): return moved(feed, partition)
    case .notYet: return restoring
    case .nowhere: return orIfNowhere?(feed, partition) ?? unknown(feed)
    }
  }

  private static func lastVersion(_ request: HTTPRequest) -> FeedVersion? {
    // A browser repeats the parameter when it reconnects.
    (request.header("Last-Event-ID") ?? request.queryValue("lastEventId")).flatMap { FeedVersion($0) }
  }

  private func state(_ request: HTTPRequest) -> HTTPResponse {
    feed(request) { description, _, isAmbiguous in
      if description.standing == .mustRefetch {
        return .unavailable(
          code: "stale",
          "the feed is stale, because changesets are missing; it is served again after its next reload"
        )
      }
      let feed = FeedAddress(description.partition, ByteText(description.feed))
      // Answered before encoding anything, if the client already has this version.
      let version = FeedVersion(description).text
      if !isAmbiguous, request.isKnown(entityTag: version) { return .unchanged(entityTag: version) }
      guard let current = feeds.reloads.current(of: StreamView(feed: feed, window: nil)) else {
        return unknown(feed.id)
      }
      guard feeds.reloads.makeRoom(for: current.reload) else { return tooMuch }
      var response = HTTPResponse(
        contentType: "application/json",
        content: current.reload.document,
        entityTag: isAmbiguous ? nil : current.reload.version.text
      )
      if !isAmbiguous { response.cacheControl = "no-cache" }
      response.onTransfer = { [reload = current.reload] in reload.lend(to: $0, byteCount: $1) }
      return response
    }
  }

  private func changes(_ request: HTTPRequest) -> HTTPResponse {
    var asked: FeedRequest
    do throws(ContentFault) {
      asked = try RequestedFeed(request).request(maxItems: streams.limits.maxWindowItems)
    } catch {
      return .problem(status: 400, code: "invalid-parameter", detail: error.detail)
    }
    guard streams.admits([asked], request.rights) else { return tooManyWindows }
    return feed(request) { description, others, isAmbiguous in
      let feed = FeedAddress(description.partition, ByteText(description.feed))
      asked.version = isAmbiguous ? nil : Self.lastVersion(request)
      return .events { [streams, asked] stream in streams.open(stream, asked, at: feed, besides: others) }
    } orIfNowhere: { id, partition in
      // A browser's EventSource would give up, although the feed may be created again.
      guard let version = Self.lastVersion(request),
        let feed = (partition.map { [$0] } ?? feeds.partitions.sorted()).lazy
          .map({ FeedAddress($0, id) }).first(where: { streams.hasDeletion(of: $0, after: version) })
      else { return unknown(id) }
      asked.version = version
      return .events { [streams, asked] stream in streams.open(stream, asked, at: feed) }
    }
  }

  // MARK: Streams of many feeds

  private func open(_ request: HTTPRequest) -> HTTPResponse {
    do throws(ContentFault) {
      let content: StreamOpening = try ContentFault.decode(request.content)
      let requests = try requests(content.feeds, in: "feeds")
      guard streams.admits(requests, request.rights) else { return tooManyWindows }
      return .events { [streams] stream in streams.open(stream, requests) }
    } catch {
      return invalid(error)
    }
  }

  private func change(_ request: HTTPRequest) -> HTTPResponse {
    do throws(ContentFault) {
      let content: StreamAlteration = try ContentFault.decode(request.content)
      let added = try requests(content.add, in: "add")
      let removed = try requests(content.remove, in: "remove")
      guard streams.admits(added, request.rights) else { return tooManyWindows }
      let id = request.parameters["stream"] ?? ""
      guard let change = try streams.change(id, request.rights, removing: removed, adding: added) else {
        return .problem(status: 404, code: "unknown-stream", detail: "this instance has no open stream \(id)")
      }
      let document: JSONObject = [
        "added": change.added.map(\.string),
        "changed": change.changed.map(\.string),
        "removed": change.removed.map(\.string),
      ]
      return document.response
    } catch {
      return invalid(error)
    }
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
    var ids: Set<ByteText> = []
    for (index, feed) in feeds.enumerated() {
      do throws(ContentFault) {
        let request = try feed.request(maxItems: limits.maxWindowItems)
        guard ids.insert(request.feed).inserted else { throw ContentFault("feed", "was given before") }
        requests.append(request)
      } catch {
        throw error.within("\(member)[\(index)]")
      }
    }
    return requests
  }

  private func invalid(_ fault: ContentFault) -> HTTPResponse {
    .problem(status: 400, code: "invalid-content", detail: fault.detail, members: ["member": fault.member])
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
      let path = "/v1/feeds/\(PercentEncoding.encode(feed.string))?partition=\(partition)"
      response.headers = [HTTPField("Location", url + path)]
    }
    return response
  }

  private var tooMuch: HTTPResponse {
    .unavailable(code: "too-much-waits", "too many bytes are queued for slow readers; try again later")
  }

  private var tooManyWindows: HTTPResponse {
    .unavailable(
      code: "too-many-windows",
      "\(streams.limits.maxWindows) different windows may be open (http.maxWindows); try again later"
    )
  }

  private var restoring: HTTPResponse {
    .unavailable(code: "restoring", "feeds are being restored, or partitions assigned; try again later")
  }
}
