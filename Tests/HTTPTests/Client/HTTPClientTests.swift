import Glibc
import Testing

@testable import HTTP

/// Requests to other servers.
struct HTTPClientTests {
  private func server(
    _ change: (inout HTTPServerConfiguration) throws -> Void = { _ in }
  ) throws -> HTTPTestServer {
    try HTTPTestServer(change) { router in
      router.add("/v1/{name}", produces: ["text/plain"]) { request in
        let text = [request.parameters["name"], request.queryValue("q"), request.header("X-Test")].map {
          $0 ?? ""
        }
        var response = HTTPResponse(
          contentType: "text/plain",
          content: HTTPContent(Array(text.joined(separator: "|").utf8))
        )
        response.headers = [HTTPField("X-Answer", "yes")]
        return response
      }
      router.add("/large", produces: ["text/plain"]) { _ in
        HTTPResponse(contentType: "text/plain", content: HTTPContent([UInt8](repeating: 120, count: 300_000)))
      }
      router.add("/huge", produces: ["text/plain"]) { _ in
        HTTPResponse(
          contentType: "text/plain",
          content: HTTPContent([UInt8](repeating: 120, count: 1 << 20 + 1))
        )
      }
      router.add("/user", produces: ["text/plain"]) { request in
        HTTPResponse(
          contentType: "text/plain",
          content: HTTPContent(Array((request.header("Authorization") ?? "").utf8))
        )
      }
      router.add("/moved") { _ in
        var response = HTTPResponse(status: 307)
        response.headers = [HTTPField("Location", "/large")]
        return response
      }
    }
  }

  @Test func `a response has its status, its head and its whole body`() throws {
    let server = try server()
    let url = "http://127.0.0.1:\(server.server.port)"
    let found = try HTTPClient.get(url + "/v1/a%2Fb?q=1", [HTTPField("X-Test", "7")], within: 60_000)
    #expect(found.status == 200 && String(decoding: found.body, as: UTF8.self) == "a/b|1|7")
    #expect(found.head.contains("\r\nX-Answer: yes"))
    let missing = "http://localhost:\(server.server.port)/missing"
    #expect(try HTTPClient.get(missing, within: 60_000).status == 404)
    #expect(try HTTPClient.get(url + "/large", within: 60_000).body.count == 300_000)
    #expect(found.redirect == nil)
    let moved = try HTTPClient.get(url + "/moved", within: 60_000)
    #expect(moved.status == 307 && moved.redirect == url + "/large")
    #expect(
      try HTTPClient.get(url + "/user", credentials: "me:a:b", within: 60_000).body
        == Array("Basic bWU6YTpi".utf8)
    )
    let failure = #expect(throws: HTTPClient.Failure.self) {
      try HTTPClient.get(url + "/huge", within: 60_000)
    }
    #expect(failure?.description == "the answer has more than 1048576 bytes")
  }

  @Test func `a request fails if the server is absent, silent or not trusted`() throws {
    // No server listens on port 1.
    #expect(throws: HTTPClient.Failure.self) { try HTTPClient.get("http://127.0.0.1:1/", within: 60_000) }
    for url in ["", "ftp://127.0.0.1/", "http://127.0.0.1:x/", "127.0.0.1"] {
      #expect(throws: HTTPClient.Failure.self, "\(url)") { try HTTPClient.get(url, within: 60_000) }
    }
    // It accepts, and says nothing.
    let silent = try ListeningSocket(
      IPAddress("127.0.0.1")!,
      port: 0,
      sendBytes: 1 << 12,
      receiveBytes: 1 << 12
    )
    defer { close(silent.descriptor) }
    for scheme in ["http", "https"] {
      #expect(throws: HTTPClient.Failure.self) {
        try HTTPClient.get("\(scheme)://127.0.0.1:\(silent.port)/", within: 50)
      }
    }
    let certificate = try HTTPSTests.TestCertificate("localhost")
    let server = try server { $0.tls = try certificate.credentials() }
    let url = "https://localhost:\(server.server.port)/v1/a"
    #expect(throws: HTTPClient.Failure.self) { try HTTPClient.get(url, within: 60_000) }
    let trusted = try HTTPClient.get(url, authorities: certificate.certificate, within: 60_000)
    #expect(trusted.status == 200)
  }
}
