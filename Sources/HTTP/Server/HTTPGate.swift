import OperatingSystem

/// Decides on requests by their heads: authorisation and routing. No I/O.
struct HTTPGate: Sendable {
  let router: HTTPRouter
  let limits: HTTPHeadLimits
  /// Whether clients have presented certificates.
  var knowsClients = false
  /// The origins whose pages may read responses.
  var origins = AllowedOrigins()
  /// The feeds that need no token.
  var publicFeeds: NamePatterns?

  /// - Parameters:
  ///   - tokens: the accepted tokens.
  ///   - now: in milliseconds since 1970.
  func admit(
    _ head: HTTPRequestHead,
    _ tokens: AcceptedTokens,
    at now: Int64 = WallClock.milliseconds()
  ) throws -> HTTPAdmission {
    let fields = try checkHead(head)
    guard let path = head.path, let parts = PathPattern.decodedParts(of: path), let query = decodedQuery(head)
    else {
      let detail = "the path must begin with a slash, and path and query must be UTF-8, percent-encoded"
      throw HTTPRefusal(400, "invalid-target", detail)
    }
    let match = router.match(parts)
    let known = match?.routes.first { $0.methods.contains(head.method) }
    // Browsers send this request without the token.
    if let match, let answer = origins.preflight(head, match.routes.flatMap(\.methods)) {
      throw HTTPRefusal(answer)
    }
    let rights = try checkCaller(head, tokens, isOpen: known?.isOpen == true, at: now)
    guard let (routes, parameters) = match else {
      throw HTTPRefusal(404, "not-found", "there is no resource at \(path)")
    }
    guard let route = known else {
      let allowed = routes.flatMap(\.methods).joined(separator: ", ")
      let detail = "\(path) does not support \(head.method); supported: \(allowed)"
      throw HTTPRefusal(405, "method-not-allowed", detail, headers: [HTTPField("Allow", allowed)])
    }
    try fields.checkLength(atMost: route.contentBytes)
    var mediaType: String?
    if !route.produces.isEmpty {
      mediaType = QualityList(head.header("Accept") ?? "*/*").best(of: route.produces)
      guard mediaType != nil else {
        let types = route.produces.joined(separator: ", ")
        let detail = "\(path) is available as \(types); accept one of these types"
        throw HTTPRefusal(406, "not-acceptable", detail)
      }
    }
    let request = HTTPRequest(
      path: path,
      parameters: parameters,
      query: query,
      headers: head.headers,
      mediaType: mediaType,
      rights: rights
    )
    return HTTPAdmission(handler: route.handler, request: request)
  }

  /// A client without a required token receives no other information, such as which paths exist, unless feeds are public.
  private func checkCaller(
    _ head: HTTPRequestHead,
    _ tokens: AcceptedTokens,
    isOpen: Bool,
    at now: Int64
  ) throws -> AccessRights {
    guard tokens.isEmpty else {
      if isOpen { return .all }
      let authorization = head.header("Authorization")
      let isAnonymous = authorization == nil && publicFeeds != nil
      var rights = isAnonymous ? .none : try tokens.rights(authorization, at: now)
      (rights.publicFeeds, rights.isAnonymous) = (publicFeeds, isAnonymous)
      return rights
    }
    // Without a token, only the local machine is accepted. If any host name were accepted, a web page could gain
    // access through its own name, if that resolves to this machine (DNS rebinding).
    let isLink = head.header("Sec-Fetch-Mode") == "navigate" && ["GET", "HEAD"].contains(head.method)
    if isForeign(head), !isLink, origins.origin(head) == nil {
      // It could not read the responses, but could open all available streams, and write.
      throw HTTPRefusal(403, "cross-site", "without a token, pages of other sites are not served")
    }
    guard !knowsClients, let host = head.header("Host"), HostField(host)?.isLoopback != true else {
      return .all
    }
    let detail =
      "without a token only localhost and loopback addresses are served; set a token to serve \(host)"
    throw HTTPRefusal(421, "unknown-host", detail)
  }

  /// Whether the request comes from a page of another site, or, if it may change something, of another origin: another port of
  /// this machine is another program. Old browsers only name the origin of content.
  private func isForeign(_ head: HTTPRequestHead) -> Bool {
    let changes = !["GET", "HEAD"].contains(head.method)
    if let site = head.header("Sec-Fetch-Site") {
      return site == "cross-site" || changes && site == "same-site"
    }
    guard changes, let origin = head.header("Origin") else { return false }
    return head.header("Host").map { !origin.hasSuffix("://\($0)") } ?? true
  }

  /// ``HTTPHeadCheck`` has checked the first request of a connection. Only libmicrohttpd parses the later ones.
  private func checkHead(_ head: HTTPRequestHead) throws(HTTPHeadFault) -> HTTPHeadFields {
    try limits.check(fieldCount: head.headers.count)
    guard head.query?.count ?? 0 <= limits.parameters else {
      throw HTTPHeadFault(
        status: 414,
        code: "target-too-long",
        "the query has more than \(limits.parameters) parameters"
      )
    }
    var fields = HTTPHeadFields()
    for field in head.headers {
      try checkForm(field)
      try fields.add(name: field.name, value: field.value)
    }
    try fields.check(isHTTP10: head.isHTTP10, maxContentBytes: limits.contentBytes)
    for name in HTTPHeadFields.single
    where head.headers.count(where: { HTTPField.isSameName($0.name, name) }) > 1 {
      throw HTTPHeadFault("the request has more than one \(name); send one")
    }
    return fields
  }

  /// Rejects forms that libmicrohttpd accepts and proxies may interpret differently. It appends a field's second line to the
  /// name, so that `Content-Length:` followed by ` 33` becomes `Content-Length33:`.
  private func checkForm(_ field: HTTPField) throws(HTTPHeadFault) {
    try HTTPHeadCheck.checkName(field.name.utf8)
    guard field.value.utf8.allSatisfy(HTTPHeadCheck.isTextByte) else {
      throw HTTPHeadFault("the value of a header field has a control character")
    }
    for name in HTTPHeadFields.names where field.name.utf8.count > name.utf8.count {
      guard !HTTPField.isSameName(field.name.utf8.prefix(name.utf8.count), name.utf8) else {
        throw HTTPHeadFault("the header field \(name) continues on the next line; send each on one line")
      }
    }
  }

  private func decodedQuery(_ head: HTTPRequestHead) -> [HTTPField]? {
    guard let query = head.query else { return nil }
    var decoded: [HTTPField] = []
    for field in query {
      guard let name = PercentEncoding.decode(field.name), let value = PercentEncoding.decode(field.value)
      else {
        return nil
      }
      decoded.append(HTTPField(name, value))
    }
    return decoded
  }
}

/// A request for a handler, still without its content.
struct HTTPAdmission: Sendable {
  let handler: HTTPRouter.Handler
  var request: HTTPRequest
}
