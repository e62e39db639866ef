import CZlib
import HTTP
import HTTPTestSupport
import Synchronization
import Testing

@Suite struct HTTPServerTests {
  private static let page = HTTPContent("<p>hello")

  private static func addRoutes(_ router: inout HTTPRouter) {
    router.add("/page") { _ in
      var response = HTTPResponse(contentType: "text/html", content: page, entityTag: "v1")
      response.cacheControl = "no-cache"
      response.contentSecurityPolicy = "default-src 'self'"
      return response
    }
    router.add("/rooms/{room}/items/{item}") { request in
      let values = request.parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      let query = request.query.map { "\($0.name)=\($0.value)" }
      return HTTPResponse(
        contentType: "text/plain",
        content: HTTPContent((values + query).joined(separator: "\n"))
      )
    }
    router.add("/typed", produces: ["application/json", "text/plain"]) { request in
      HTTPResponse(contentType: request.mediaType ?? "none", content: HTTPContent("{}"))
    }
    for method in [HTTPMethod.post, .patch] {
      router.add("/echo", method: method, contentBytes: 100_000) { request in
        HTTPResponse(status: 201, contentType: "text/plain", content: HTTPContent(request.content))
      }
    }
  }

  private func server(
    _ change: (inout HTTPServerConfiguration) throws -> Void = { _ in }
  ) throws -> HTTPTestServer {
    try HTTPTestServer(change, routes: Self.addRoutes)
  }

  @Test func `responses have security headers`() throws {
    let response = try server().ask("GET /page")
    #expect(response.status == 200)
    #expect(response.text == "<p>hello")
    #expect(response["Content-Type"] == "text/html")
    #expect(response["X-Content-Type-Options"] == "nosniff")
    #expect(response["Content-Security-Policy"] == "default-src 'self'")
    #expect(response["Cache-Control"] == "no-cache")
    #expect(response["Cross-Origin-Resource-Policy"] == "same-origin")
    #expect(!response.headers.contains { $0.name.lowercased().hasPrefix("access-control") })
  }

  @Test func `many requests use one connection`() throws {
    let server = try server()
    let client = try server.connect()
    for _ in 0..<10 {
      #expect(try client.ask("GET /page").text == "<p>hello")
    }
    // Pipelined requests are answered in order, and errors do not end the connection.
    try client.request("GET /nowhere")
    try client.request("GET /page")
    #expect(try client.response().status == 404)
    #expect(try client.response().status == 200)
    #expect(server.server.counters.openConnections == 1)
    #expect(server.server.counters.requestsByStatus == [200: 11, 404: 1])
    #expect(server.server.counters.contentBytes > 11 * 8)
  }

  @Test func `HEAD is GET without the content`() throws {
    let client = try server().connect()
    try client.request("HEAD /page")
    let response = try client.response(isHead: true)
    #expect(response.status == 200)
    #expect(response["Content-Length"] == "8")
    #expect(response["ETag"] == "\"v1\"")
    // Nothing lies between this response and the next.
    #expect(try client.ask("GET /page").text == "<p>hello")
  }

  @Test(arguments: ["\"v1\"", "W/\"v1\"", "\"v0\", \"v1\"", "*", "\"v1-gzip\""])
  func `a client that has the version receives 304`(_ tags: String) throws {
    let client = try server().connect()
    let response = try client.ask("GET /page", "If-None-Match: \(tags)")
    #expect(response.status == 304)
    // The tag of the form that the client has.
    #expect(response["ETag"] == (tags.contains("gzip") ? "\"v1-gzip\"" : "\"v1\""))
    #expect(response["Cache-Control"] == "no-cache")
    #expect(try client.ask("GET /page", "If-None-Match: \"v2\"").text == "<p>hello")
  }

  @Test func `segments of a path are decoded after it is split`() throws {
    let server = try server()
    #expect(try server.ask("GET /rooms/a%2Fb/items/%C3%A9%20+").text == "item=é +\nroom=a/b")
    #expect(try server.ask("GET /rooms/a/items/b?x=1%262&y&x=a+b").text == "item=b\nroom=a\nx=1&2\ny=\nx=a b")
  }

  @Test func `a zero byte is an ordinary byte`() throws {
    let server = try server()
    #expect(try server.ask("GET /rooms/%00/items/a%00b?x=c%00d").text == "item=a\0b\nroom=\0\nx=c\0d")
  }

  @Test(arguments: ["/rooms/%ZZ/items/1", "/rooms/%C3/items/1", "/page?x=%", "page"])
  func aTargetThatCannotBeReadIs400(_ target: String) throws {
    let response = try server().ask("GET \(target)")
    #expect(response.status == 400)
    #expect(response["Content-Type"] == "application/problem+json")
    #expect(response.text.hasPrefix(#"{"status":400,"code":"invalid-target","detail":""#))
  }

  @Test(arguments: ["/", "/page/", "/rooms/a/items/", "/rooms/a", "/PAGE", "//page"])
  func aPathWithoutRouteIs404(_ path: String) throws {
    let response = try server().ask("GET \(path)")
    #expect(response.status == 404)
    #expect(response["X-Content-Type-Options"] == "nosniff")
  }

  @Test func anotherMethodIs405WithThoseThatGo() throws {
    let server = try server()
    #expect(try server.ask("POST /page")["Allow"] == "GET, HEAD")
    #expect(try server.ask("GET /echo")["Allow"] == "POST, PATCH")
    #expect(try server.ask("BREW /page").status == 405)
    #expect(try server.ask("OPTIONS /page").status == 405)
  }

  @Test func `the client chooses the media type`() throws {
    let server = try server()
    #expect(try server.ask("GET /typed")["Content-Type"] == "application/json")
    #expect(try server.ask("GET /typed", "Accept: text/*")["Content-Type"] == "text/plain")
    #expect(
      try server.ask("GET /typed", "Accept: application/json;q=0.1, text/plain;q=0.25")["Content-Type"]
        == "text/plain"
    )
    #expect(
      try server.ask("GET /typed", "Accept: application/json;q=0, */*;q=0.1")["Content-Type"] == "text/plain"
    )
    let refusal = try server.ask("GET /typed", "Accept: image/png, text/plain;q=0.000")
    #expect(refusal.status == 406)
    #expect(refusal.text.contains("application/json, text/plain"))
  }

  @Test func `several fields of one name are one with the list of their values`() throws {
    let server = try server()
    let types = ["Accept: image/png", "accept: text/plain", "ACCEPT: application/json;q=0.5"]
    #expect(try server.ask("GET /typed", types[0], types[1], types[2])["Content-Type"] == "text/plain")
    #expect(try server.ask("GET /typed", types[2], types[0])["Content-Type"] == "application/json")
    let known = try server.ask("GET /page", "If-None-Match: \"v0\"", "If-None-Match: W/\"v1\"")
    #expect(known.status == 304 && known["ETag"] == "\"v1\"")
    #expect(try server.ask("GET /page", "If-None-Match: \"v0\"", "If-None-Match: \"v2\"").status == 200)
  }

  @Test func `parameters that a route does not have are refused where it says so`() throws {
    let server = try HTTPTestServer { router in
      router.add("/list") { request in
        try request.checkQuery("first", "from")
        return HTTPResponse(status: 204)
      }
      router.add("/none") { request in
        try request.checkQuery()
        return HTTPResponse(status: 204)
      }
      router.add("/any") { _ in HTTPResponse(status: 204) }
    }
    for target in ["/list", "/list?first=1&from=2", "/list?first=1&first=2", "/none", "/none?", "/any?x=1"] {
      #expect(try server.ask("GET \(target)").status == 204, "\(target)")
    }
    for target in ["/list?frist=1", "/list?first=1&From=2", "/none?x=1", "/list?=1", "/list?first%20=1"] {
      let response = try server.ask("GET \(target)")
      #expect(response.status == 400 && response.text.contains("\"code\":\"invalid-parameter\""), "\(target)")
    }
    #expect(
      try server.ask("GET /list?frist=1").text.contains(#"\"frist\" is not known here; known: first, from"#)
    )
  }

  @Test func `content is accepted up to the limit of the route`() throws {
    let client = try server().connect()
    for (method, count) in [("POST", 100_000), ("PATCH", 1), ("POST", 0)] {
      let content = String(repeating: "x", count: count)
      let response = try client.ask("\(method) /echo", body: content)
      #expect(response.status == 201 && response.text == content)
    }
  }

  @Test(arguments: ["100001", "1048577", "9223372036854775807"], [true, false])
  func `content above the limit is rejected before it is sent`(_ length: String, isFirst: Bool) throws {
    let client = try server().connect()
    if !isFirst { #expect(try client.ask("GET /page").status == 200) }
    let response = try client.ask("POST /echo", "Content-Length: \(length)")
    #expect(response.status == 413)
    #expect(client.isAtEnd())
  }

  @Test(arguments: [("GET /page", 413), ("POST /page", 405), ("POST /nowhere", 404)])
  func `content for which there is no use is not waited for`(_ line: String, status: Int) throws {
    let client = try server().connect()
    #expect(try client.ask(line, "Content-Length: 1").status == status)
    #expect(client.isAtEnd())
  }

  @Test func contentWithoutALengthIs411() throws {
    let client = try server().connect()
    #expect(try client.ask("POST /page", "Transfer-Encoding: chunked").status == 411)
  }

  @Test func `a head that is too large or invalid is refused`() throws {
    let server = try server { $0.head.bytes = 4096 }
    #expect(
      [413, 431].contains(try server.ask("GET /page", "X: " + String(repeating: "x", count: 8192)).status)
    )
    #expect(try server.ask("GET /" + String(repeating: "x", count: 8192)).status == 414)
    let client = try server.connect()
    try client.send("hello\r\n\r\n")
    #expect((try? client.response().status) ?? 400 == 400)
    #expect(try server.ask("GET /page").status == 200)
  }

  @Test func `a response header with a line break is omitted`() throws {
    let server = try HTTPTestServer { router in
      router.add("/") { _ in
        var response = HTTPResponse(status: 204)
        response.headers = [HTTPField("X-A", "1\r\nX-B: 2"), HTTPField("X-C", "3")]
        return response
      }
    }
    let response = try server.ask("GET /")
    #expect(response["X-A"] == nil)
    #expect(response["X-B"] == nil)
    #expect(response["X-C"] == "3")
  }
}
