import FeedWorker
import Service

/// Routes for operators and their tools (docs/http.md).
struct OperationRoutes: Sendable {
  let health: @Sendable () -> DaemonHealth
  let status: @Sendable () -> FeedDocuments.Status
  let metrics: @Sendable () -> [MetricFamily]
  /// Whether metrics are served without a token.
  let metricsWithoutToken: Bool

  private static let json = ["application/json"]

  /// Adds the routes.
  func add(to router: inout HTTPRouter) {
    // Probes cannot send a token; the answer contains no secrets.
    router.add(.get, "/livez", isOpen: true) { _ in
      Self.answer(health().deaths, fine: "live", wrong: "not-live")
    }
    router.add(.get, "/readyz", isOpen: true) { _ in
      Self.answer(health().obstacles, fine: "ready", wrong: "not-ready")
    }
    router.add(.get, "/v1/status", produces: Self.json) { _ in FeedDocuments.response(status()) }
    router.add(.get, "/metrics", isOpen: metricsWithoutToken) { request in
      let format = MetricsFormat(accept: request.header("Accept"))
      let text = MetricsText.write(metrics(), format)
      return HTTPResponse(contentType: format.contentType, content: HTTPContent(text))
    }
  }

  private static func answer(_ reasons: [DaemonHealth.Reason], fine: String, wrong: String) -> HTTPResponse {
    let isFine = reasons.isEmpty
    let answer = FeedDocuments.Health(
      status: isFine ? 200 : 503,
      code: isFine ? fine : wrong,
      detail: isFine ? nil : reasons.map(\.detail).joined(separator: "; "),
      reasons: reasons
    )
    var response = FeedDocuments.response(answer)
    if !isFine {
      response.status = 503
      response.contentType = "application/problem+json"
    }
    return response
  }
}
