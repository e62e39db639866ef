import Glibc
import HTTP
import HTTPTestSupport
import Testing

/// Which clients are served, and on which addresses.
@Suite struct HTTPAccessTests {
  private static let token = "correct-horse-battery-staple"

  private func server(
    _ change: (inout HTTPServerConfiguration) throws -> Void = { $0.tokens.bearer = try BearerToken(token) }
  ) throws -> HTTPTestServer {
    try HTTPTestServer(change) { router in
      router.add("/secret") { _ in
        HTTPResponse(contentType: "text/plain", content: HTTPContent("secret"))
      }
      router.add("/health", isOpen: true) { _ in HTTPResponse(status: 204) }
    }
  }

  @Test func `a client with the token is served`() throws {
    let server = try server()
    #expect(try server.ask("GET /secret", "Authorization: Bearer \(Self.token)").text == "secret")
    #expect(try server.ask("GET /secret", "authorization: bearer  \(Self.token) ").text == "secret")
    #expect(try server.ask("GET /nowhere", "Authorization: Bearer \(Self.token)").status == 404)
  }

  @Test(arguments: [
    "", "Bearer", "Bearer ", "Bearer correct-horse-battery-stapl", "Bearer correct-horse-battery-staple2",
    "Bearer Correct-horse-battery-staple", "Basic correct-horse-battery-staple",
    "correct-horse-battery-staple",
  ])
  func whoDoesNotIsTold401(_ authorization: String) throws {
    let server = try server()
    for line in ["GET /secret", "HEAD /secret", "GET /nowhere", "POST /secret"] {
      let response = try server.ask(line, "Authorization: \(authorization)")
      #expect(response.status == 401)
      #expect(response["WWW-Authenticate"] == "Bearer")
      #expect(!response.text.contains(Self.token))
    }
    #expect(try server.ask("GET /secret").status == 401)
  }

  @Test func `replacing the token ends streams that were opened with the old one`() throws {
    let server = try HTTPTestServer {
      $0.tokens.bearer = try BearerToken(Self.token)
    } routes: { router in
      router.add("/events", produces: ["text/event-stream"]) { _ in
        .events { stream in _ = stream.write(EncodedEvent(data: Array("first".utf8))) }
      }
      router.add("/secret") { _ in HTTPResponse(status: 204) }
    }
    let reader = try server.connect()
    try reader.request("GET /events", "Authorization: Bearer \(Self.token)")
    #expect(try reader.head().status == 200)
    _ = try reader.chunk()
    let other = "another-token-of-this-server"
    server.server.replaceTokens(AcceptedTokens(bearer: try BearerToken(Self.token)))
    #expect(server.server.counters.openStreams == 1)
    server.server.replaceTokens(AcceptedTokens(bearer: try BearerToken(other)))
    // An empty chunk ends the stream.
    #expect(throws: HTTPTestClient.Failure.self) { try reader.chunks(through: "never") }
    #expect(try server.ask("GET /secret", "Authorization: Bearer \(Self.token)").status == 401)
    #expect(try server.ask("GET /secret", "Authorization: Bearer \(other)").status == 204)
    server.server.replaceTokens(AcceptedTokens())
    #expect(try server.ask("GET /secret").status == 204)
  }

  @Test func `an open route needs no token`() throws {
    let server = try server()
    #expect(try server.ask("GET /health").status == 204)
    #expect(try server.ask("POST /health").status == 401)
  }

  @Test func `without a token, only loopback addresses are served`() throws {
    for address in ["0.0.0.0", "::", "192.0.2.1"] {
      let error = try #require(throws: HTTPServerError.self) { try server { $0.address = address } }
      #expect(error.code == .tokenNeeded)
      #expect(error.message.contains("others could connect to \(address)"))
      #expect(error.message.contains("set a token"))
    }
    #expect(try server { $0.address = "127.0.0.2" }.server.url.hasPrefix("http://127.0.0.2:"))
  }

  @Test func `with a token, other addresses are served`() throws {
    let server = try server {
      $0.address = "0.0.0.0"
      $0.tokens.bearer = try BearerToken(Self.token)
    }
    let client = try server.connect()
    try client.send(
      "GET /secret HTTP/1.1\r\nHost: feeds.example\r\nAuthorization: Bearer \(Self.token)\r\n\r\n"
    )
    #expect(try client.response().text == "secret")
  }

  @Test func `without a token, a foreign page cannot gain access by DNS rebinding`() throws {
    let server = try server { _ in }
    for host in [
      "feeds.example", "localhost.feeds.example", "192.0.2.1", "127.0.0.1.feeds.example:80", "[::2]",
    ] {
      let client = try server.connect()
      try client.send("GET /secret HTTP/1.1\r\nHost: \(host)\r\n\r\n")
      #expect(try client.response().status == 421)
    }
    for host in [
      "localhost", "LOCALHOST:\(server.server.port)", "127.0.0.1", "127.1.2.3:1", "[::1]:8080", "a.localhost",
    ] {
      let client = try server.connect()
      try client.send("GET /secret HTTP/1.1\r\nHost: \(host)\r\n\r\n")
      #expect(try client.response().text == "secret")
    }
  }

  @Test func `a port in use is named`() throws {
    let first = try server()
    let error = try #require(throws: HTTPServerError.self) { try server { $0.port = first.server.port } }
    #expect(error.code == .portInUse)
    #expect(error.message.contains("127.0.0.1:\(first.server.port)"))
    // Stopping releases the port, even with open connections.
    let client = try first.connect()
    #expect(try client.ask("GET /health").status == 204)
    first.server.stop(withinMilliseconds: 60_000)
    #expect(try server { $0.port = first.server.port }.ask("GET /health").status == 204)
  }

  @Test func `an invalid address is named`() throws {
    let mistakes: [(String, Int)] = [("localhost", 0), ("", 0), ("127.0.0.1", 65_536), ("127.0.0.1", -1)]
    for (address, port) in mistakes {
      let error = try #require(throws: HTTPServerError.self) {
        try server {
          $0.address = address
          $0.port = port
        }
      }
      #expect(error.code == .address)
    }
    let error = try #require(throws: HTTPServerError.self) {
      try server {
        $0.address = "192.0.2.1"
        $0.tokens.bearer = try BearerToken(Self.token)
      }
    }
    #expect(error.message.contains("cannot listen on 192.0.2.1:0: this machine does not have the address"))
  }

  @Test func `more connections than open files is an error at the start`() throws {
    let error = try #require(throws: HTTPServerError.self) {
      try server { $0.maxConnections = 1_900_000_000 }
    }
    #expect(error.code == .openFiles)
    #expect(error.message.contains("LimitNOFILE"))
  }

  @Test func `without a token, requests from pages of other sites are refused`() throws {
    let server = try HTTPTestServer { router in
      router.add("/") { _ in HTTPResponse(contentType: "text/plain", content: HTTPContent("hello")) }
    }
    #expect(try server.ask("GET /", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors").status == 403)
    // Following a link to it is allowed.
    #expect(try server.ask("GET /", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate").status == 200)
    // A page of another port of this machine may follow, and change nothing.
    #expect(try server.ask("GET /", "Sec-Fetch-Site: same-site").status == 200)
    #expect(try server.ask("POST /", "Sec-Fetch-Site: same-site").status == 403)
    // A browser that says only from where content comes. Other routes would say 405.
    #expect(try server.ask("POST /", "Origin: http://elsewhere").status == 403)
    #expect(try server.ask("POST /", "Origin: http://localhost").status == 405)
    #expect(try server.ask("POST /", "Origin: http://a", "Sec-Fetch-Site: same-origin").status == 405)
    #expect(try server.ask("GET /", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors").status == 200)
  }

  // MARK: Pages of other origins

  @Test func `a listed origin may read every response`() throws {
    let server = try server {
      $0.tokens.bearer = try BearerToken(Self.token)
      $0.allowedOrigins = try #require(AllowedOrigins("https://a.example http://localhost:5173"))
    }
    let token = "Authorization: Bearer \(Self.token)"
    for (line, status) in [
      ("GET /secret", 200), ("HEAD /secret", 200), ("POST /secret", 405), ("GET /no", 404),
    ] {
      let response = try server.ask(line, token, "Origin: https://a.example")
      #expect(response.status == status)
      #expect(response["Access-Control-Allow-Origin"] == "https://a.example")
      #expect(response["Access-Control-Expose-Headers"]?.contains("ETag, Location, Retry-After") == true)
      #expect(response["Vary"] == "Accept, Accept-Encoding, Origin")
      #expect(response["Access-Control-Allow-Credentials"] == nil)
    }
    #expect(try server.ask("GET /secret", "Origin: https://a.example").status == 401)
    for origin in [
      "https://a.example:8443", "http://a.example", "https://A.example", "null", "https://a.example ",
    ] {
      let response = try server.ask("GET /secret", token, "Origin: \(origin)x")
      #expect(response.status == 200)
      #expect(response["Access-Control-Allow-Origin"] == nil)
      #expect(response["Vary"] == "Accept, Accept-Encoding, Origin")
    }
  }

  @Test func `a preflight needs no token`() throws {
    let server = try server {
      $0.tokens.bearer = try BearerToken(Self.token)
      $0.allowedOrigins = try #require(AllowedOrigins("https://a.example"))
    }
    let ask = "Access-Control-Request-Method: GET"
    let response = try server.ask("OPTIONS /secret", "Origin: https://a.example", ask)
    #expect(response.status == 204)
    #expect(response["Access-Control-Allow-Origin"] == "https://a.example")
    #expect(response["Access-Control-Allow-Methods"] == "GET, HEAD")
    #expect(
      response["Access-Control-Allow-Headers"]
        == "Authorization, Content-Type, Last-Event-ID, If-Match, If-None-Match, Prefer"
    )
    #expect(response["Access-Control-Max-Age"] == "7200")
    #expect(try server.ask("OPTIONS /secret", "Origin: https://a.example").status == 401)
    #expect(try server.ask("OPTIONS /secret", "Origin: https://b.example", ask).status == 401)
    #expect(try server.ask("OPTIONS /nowhere", "Origin: https://a.example", ask).status == 401)
  }

  @Test func `without a token, pages of a listed origin are served`() throws {
    let server = try server { $0.allowedOrigins = try #require(AllowedOrigins("https://a.example")) }
    let site = "Sec-Fetch-Site: cross-site"
    #expect(try server.ask("GET /secret", site, "Origin: https://a.example").status == 200)
    #expect(try server.ask("GET /secret", site, "Origin: https://b.example").status == 403)
    // A name that resolves to this machine.
    let client = try server.connect()
    try client.send("GET /secret HTTP/1.1\r\nHost: a.example\r\nOrigin: https://a.example\r\n\r\n")
    #expect(try client.response().status == 421)
  }

  @Test func `without origins, no response has a header for them`() throws {
    let server = try server { _ in }
    let response = try server.ask("GET /secret", "Origin: https://a.example")
    #expect(response["Vary"] == "Accept, Accept-Encoding")
    #expect(response["Access-Control-Allow-Origin"] == nil)
    #expect(try server.ask("OPTIONS /secret", "Access-Control-Request-Method: GET").status == 405)
  }

  @Test(arguments: [
    ("", true), ("https://a.example", true), ("http://localhost:5173 capacitor://localhost", true),
    ("http://[::1]:3000", true), ("https://a.example:8443", true), ("*", false),
    ("https://*.a.example", false),
    ("https://a.example/", false), ("https://A.example", false), ("a.example", false), ("https://", false),
    ("https://a.example:443", false), ("http://a.example:80", false), ("https://a.example:", false),
    ("https://a.example?", false), ("null", false), ("https://a.example,https://b.example", false),
    ("://a", false), ("https:a", false), ("https://a@b", false),
  ])
  func `origins are written as browsers send them`(text: String, isValid: Bool) {
    #expect((AllowedOrigins(text) != nil) == isValid)
  }
}
