import HTTP
import HTTPTestSupport
import Testing

/// Requests that are rejected by their heads, over a socket.
@Suite struct HTTPFaultTests {
  private func server(
    _ change: (inout HTTPServerConfiguration) throws -> Void = { _ in }
  ) throws
    -> HTTPTestServer
  {
    try HTTPTestServer(change) { router in
      router.add("/") { _ in HTTPResponse(contentType: "text/plain", content: HTTPContent("hello")) }
    }
  }

  @Test(arguments: HTTPHeadCheckTests.refused)
  func `an invalid head is answered at once, and the connection is closed`(
    _ text: String,
    _ status: Int,
    _ code: String
  ) throws {
    // No deadline may end the requests in this test.
    let server = try server { $0.headMilliseconds = 3_600_000 }
    let client = try server.connect()
    try client.send(text)
    let response = try client.response()
    #expect(response.status == status)
    #expect(response.text.contains("\"code\":\"\(code)\""))
    #expect(response["Content-Type"] == "application/problem+json")
    #expect(response["Connection"] == "close")
    #expect(client.isAtEnd())
    #expect(server.server.counters.requestsByStatus == [status: 1])
    #expect(try server.ask("GET /").text == "hello")
  }

  @Test(arguments: [
    ("Host: localhost\r\nHost: localhost\r\n", 400), ("Host: [::1]evil.com\r\n", 400), ("", 400),
    ("Host: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n", 400),
    ("Host: a\r\nContent-Length: 0\r\nContent-Length: 6\r\n", 400),
    ("Host: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400),
    ("Host: a\r\nTransfer-Encoding: chunked\r\n", 411), ("Host: a\r\nContent-Length: 9999999\r\n", 413),
    ("Host: a\r\n" + String(repeating: "A: b\r\n", count: 150), 431),
  ])
  func `later requests are checked the same way`(_ fields: String, _ status: Int) throws {
    let client = try server().connect()
    #expect(try client.ask("GET /").text == "hello")
    try client.send("GET / HTTP/1.1\r\n\(fields)\r\n")
    #expect(try client.response().status == status)
    // Without Host, libmicrohttpd 0.9.75 answers itself, and sends its response's head twice.
    #expect(fields.isEmpty || client.isAtEnd())
  }

  @Test(arguments: [
    "Authorization", "Content-Type", "Last-Event-ID", "Origin", "Sec-Fetch-Mode", "Sec-Fetch-Site",
  ])
  func `a field that has no list must not occur twice`(_ name: String) throws {
    let server = try server { $0.tokens.bearer = try BearerToken("correct-horse-battery-staple") }
    let token = "Authorization: Bearer correct-horse-battery-staple"
    #expect(try server.ask("GET /", token).text == "hello")
    let field = name == "Authorization" ? token : "\(name): a"
    let client = try server.connect()
    for _ in 0..<2 { #expect(try client.ask("GET /", token).text == "hello") }
    let response = try client.ask("GET /", token, "\(name.lowercased()): a", field)
    #expect(response.status == 400)
    #expect(response.text.contains("the request has more than one \(name); send one"))
    #expect(client.isAtEnd())
    #expect(try server.ask("GET /", field, field).status == 400)
  }

  /// A proxy might take what follows for content, or for part of the head.
  @Test(arguments: [
    "Content-Length:\r\n 31\r\n", "Content-Length\t: 31\r\n", "content-length : 31\r\n",
    "Content-Length: 0\r\n 31\r\n", "A: b\u{1}\r\n", "Transfer-Encoding:\r\n chunked\r\n",
    "Transfer-Encoding : chunked\r\n", "A : b\r\n", "A\u{b}: b\r\n", "A: b\u{7f}\r\n",
  ])
  func `what follows an ambiguous later head is not another request`(_ fields: String) throws {
    let client = try server().connect()
    #expect(try client.ask("GET /").text == "hello")
    try client.send("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\nGET /2 HTTP/1.1\r\nHost: b\r\n\r\n")
    #expect(try client.response().status == 400)
    #expect(client.isAtEnd())
  }

  @Test func `a later request with too many parameters is answered`() throws {
    let client = try server().connect()
    #expect(try client.ask("GET /").text == "hello")
    #expect(try client.ask("GET /?" + String(repeating: "a=b&", count: 150) + "c").status == 414)
  }

  @Test(arguments: ["Content-Length: 1048576", "Expect: 100-continue\r\nContent-Length: 1"])
  func `unexpected content is rejected before it is read`(_ fields: String) throws {
    let server = try server { $0.head.contentBytes = 0 }
    let client = try server.connect()
    let response = try client.ask("GET /", fields)
    #expect(response.status == 413)
    #expect(response.text.contains("allowed: 0"))
    // A client may send its content nevertheless, and then read the response.
    let other = try server.connect()
    #expect(try other.ask("GET /", body: String(repeating: "x", count: 1 << 20)).status == 413)
    #expect(other.isAtEnd())
    #expect(try server.ask("GET /", body: "").text == "hello")
  }

  @Test func `the largest valid head is answered`() throws {
    let server = try server()
    let parameters = (0..<100).map { "\($0)=\($0)" }.joined(separator: "&")
    let padding = String(repeating: "y", count: 12_000)
    let fields = (0..<96).map { "X-\($0): z" } + ["X-Long: \(padding)"]
    for _ in 0..<2 {
      let client = try server.connect()
      for _ in 0..<2 {
        try client.send(
          "GET /?\(parameters) HTTP/1.1\r\nHost: localhost\r\n\(fields.joined(separator: "\r\n"))\r\n\r\n"
        )
        #expect(try client.response().text == "hello")
      }
    }
  }
}
