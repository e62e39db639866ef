import FeedTestSupport
import HTTP
import HTTPTestSupport
import Testing

/// libmicrohttpd takes the sockets that are ready in batches of 128.
@Suite(.serialized) struct ReadyConnectionsTests {
  @Test(arguments: [127, 128, 129, 255, 256, 257])
  func `requests that one thread finds at once are all answered`(count: Int) throws {
    let entered = BlockingFlag()
    let mayReturn = BlockingFlag()
    let hello = HTTPContent("hello")
    let server = try HTTPTestServer {
      $0.maxConnections = 2 * count
    } routes: { router in
      router.add("/") { _ in HTTPResponse(contentType: "text/plain", content: hello) }
      router.add("/slow") { _ in
        entered.set()
        mayReturn.wait()
        return HTTPResponse(contentType: "text/plain", content: hello)
      }
    }
    let clients = try (0..<count).map { _ in
      let client = try server.connect()
      #expect(try client.ask("GET /").text == "hello")
      return client
    }
    // The server's only thread is busy until all requests have arrived.
    let slow = try server.connect()
    try slow.request("GET /slow")
    entered.wait()
    for client in clients { try client.request("GET /") }
    mayReturn.set()
    for client in [slow] + clients { #expect(try client.response().text == "hello") }
  }
}
