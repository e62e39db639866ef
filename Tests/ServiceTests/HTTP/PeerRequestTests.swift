import Glibc
import Testing

@testable import Service

/// Requests to other instances.
struct PeerRequestTests {
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
      router.add("/none") { _ in HTTPResponse(status: 204) }
    }
  }

  @Test func `a response has its status, its head and its whole body`() throws {
    let server = try server()
    let url = "http://127.0.0.1:\(server.server.port)"
    let found = try #require(
      PeerRequest.get(url + "/v1/a%2Fb?q=1", [HTTPField("X-Test", "7")], within: 60_000)
    )
    #expect(found.status == 200 && String(decoding: found.body, as: UTF8.self) == "a/b|1|7")
    #expect(found.head.contains("\r\nX-Answer: yes"))
    #expect(
      PeerRequest.get("http://localhost:\(server.server.port)/missing", [], within: 60_000)?.status == 404
    )
    #expect(PeerRequest.get(url + "/large", [], within: 60_000)?.body.count == 300_000)
  }

  @Test func `there is no response of a server that is not there, does not answer, or is not trusted`() throws
  {
    // No server listens on port 1.
    #expect(PeerRequest.get("http://127.0.0.1:1/", [], within: 60_000) == nil)
    for url in ["", "ftp://127.0.0.1/", "http://127.0.0.1:x/", "127.0.0.1"] {
      #expect(PeerRequest.get(url, [], within: 60_000) == nil, "\(url)")
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
      #expect(PeerRequest.get("\(scheme)://127.0.0.1:\(silent.port)/", [], within: 50) == nil)
    }
    let certificate = try HTTPSTests.TestCertificate("localhost")
    let server = try server { $0.tls = try certificate.credentials() }
    #expect(PeerRequest.get("https://localhost:\(server.server.port)/v1/a", [], within: 60_000) == nil)
  }
}
