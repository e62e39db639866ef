internal import CInspector
import Changesets
import Diagnostics
import Feed
import FeedClient
import FeedStatus
import FeedStore
import HTTP
import Kafka
import OperatingSystem

/// Routes for operators and their tools (docs/monitor.md).
struct OperationRoutes: Sendable {
  /// Nil if feeds are not served.
  let feeds: FeedServer?
  let status: DaemonStatus
  let planner: PlannerThresholds
  let instance: String
  let health: @Sendable () -> DaemonHealth
  let counters: @Sendable () -> HTTPCounters
  let metrics: DaemonMetrics
  /// Whether metrics are served without a token.
  let metricsWithoutToken: Bool
  private let startedAt = WallClock.milliseconds()

  func add(to router: inout HTTPRouter) {
    // Probes cannot send a token; the answer contains no secrets.
    router.add("/livez", isOpen: true) { _ in
      Self.answer(health().deaths, fine: "live", wrong: "not-live")
    }
    router.add("/readyz", isOpen: true) { _ in
      let health = health()
      return Self.answer(health.obstacles, fine: "ready", wrong: "not-ready", rows: health.rows)
    }
    router.add("/v1/status", produces: ["application/json"]) { request in
      guard request.rights.readsAll else { throw HTTPRefusal.forbidden }
      try request.checkQuery()
      return document.response
    }
    router.add("/metrics", isOpen: metricsWithoutToken) { request in
      guard request.rights.readsAll else { throw HTTPRefusal.forbidden }
      let format = MetricsFormat(accept: request.header("Accept"))
      let text = MetricsText.write(metrics.families, format)
      return HTTPResponse(contentType: format.contentType, content: HTTPContent(text))
    }
  }

  private static func answer(
    _ reasons: [DaemonHealth.Reason],
    fine: String,
    wrong: String,
    rows: [String: [String: Int]] = [:]
  ) -> HTTPResponse {
    let isFine = reasons.isEmpty
    let answer: JSONObject = [
      "status": isFine ? 200 : 503,
      "code": isFine ? fine : wrong,
      "detail": isFine ? nil : reasons.map(\.detail).joined(separator: "; "),
      "reasons": reasons,
      "rows": rows.isEmpty ? nil : rows,
    ]
    var response = answer.response
    if !isFine {
      response.status = 503
      response.contentType = "application/problem+json"
    }
    return response
  }
}

/// The answer to `GET /v1/status`.
extension OperationRoutes {
  private var document: JSONObject {
    let health = health()
    let statistics = status.statistics
    let content = statistics.content
    let listed = feeds?.listing.feeds
    let totals: JSONObject = [
      "count": listed?.all.count ?? content.feeds,
      "sections": listed?.sectionCount ?? content.sections,
      "items": listed?.itemCount ?? content.items,
    ]
    return [
      "version": Release.version,
      "librdkafka": Librdkafka.version,
      "instance": instance,
      "standing": feeds?.feeds.standing.name,
      "brokerTokenFailure": status.tokens?.failure,
      "startedAt": Timestamp.rfc3339(milliseconds: startedAt),
      "ready": health.isReady,
      "reasons": health.deaths + health.obstacles,
      "reloadFailure": status.updater?.failure,
      "tokenKeys": counters().tokenKeys,
      "workers": status.workers.map { JSONObject($0) },
      "partitions": partitions(statistics),
      "standby": status.standby.map { JSONObject($0.status) },
      "contents": status.contents.map { contents -> JSONObject in
        [
          "count": contents.count,
          "bytes": contents.bytes,
          "records": contents.records,
          "rejected": contents.rejected,
          "remaining": contents.remaining,
        ]
      },
      "feeds": totals,
      "counters": JSONObject(statistics.counters),
      "http": JSONObject(counters()),
      "planner": JSONObject(planner),
    ]
  }

  /// Standing and position come from the follower, if feeds are served.
  private func partitions(_ statistics: WorkerStatistics) -> [JSONObject] {
    let lag = statistics.lagByNumber
    guard let feeds else {
      return statistics.partitions.sorted().map { ["partition": $0, "inputLag": lag[$0]] }
    }
    let served = status.served.served
    return feeds.feeds.client.partitions.filter { served.contains($0.number) }.map {
      [
        "partition": $0.number,
        "standing": $0.standing.name,
        "position": $0.position,
        "inputLag": lag[$0.number],
      ]
    }
  }
}

/// The inspector: a web page and its files. They contain no feed data, so they need no token; the page asks the user
/// for one.
struct InspectorPage: Sendable {
  private static let policy = [
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
    "img-src 'self' data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
  ].joined(separator: "; ")

  /// Adds `/` and the files.
  func add(to router: inout HTTPRouter) {
    var index = 0
    var start: UnsafePointer<UInt8>?
    var size = 0
    while let name = feedstore_inspector_file(index, &start, &size).map(String.init(cString:)) {
      let bytes = UnsafeBufferPointer(start: start, count: size)
      let kind = name.hasSuffix(".js") ? "javascript" : name.hasSuffix(".css") ? "css" : "html"
      let type = "text/\(kind); charset=utf-8"
      let content = HTTPContent(bytes)
      let tag = Self.tag(bytes)
      router.add(index == 0 ? "/" : "/\(name)", isOpen: true) { _ in
        var response = HTTPResponse(contentType: type, content: content, entityTag: tag)
        // Browsers revalidate each time, because the files of two releases do not work together.
        response.cacheControl = "no-cache"
        response.contentSecurityPolicy = Self.policy
        return response
      }
      index += 1
    }
  }

  /// An entity tag for a file's content: FNV-1a.
  private static func tag(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
    let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(hash, radix: 16)
  }
}

extension MetricsFormat {
  /// The client's preferred format; Prometheus's if it accepts neither, because scrapers read it in any case.
  ///
  /// - Parameter accept: the value of `Accept`; nil if it is absent.
  init(accept: String?) {
    let types = Self.allCases.map(\.contentType)
    let best = QualityList(accept ?? "*/*").best(of: types)
    self = Self.allCases.first { $0.contentType == best } ?? .prometheus
  }
}
