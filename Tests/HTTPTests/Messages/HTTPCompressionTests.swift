import CZlib
import FeedTestSupport
import HTTP
import HTTPTestSupport
import Testing

@Suite struct HTTPCompressionTests {
  private static let text = (0..<20_000).map { "line \($0)\n" }.joined()

  private func server() throws -> HTTPTestServer {
    let long = HTTPContent(Self.text)
    let short = HTTPContent("short")
    var bytes = SeededRandom(1)
    let random = HTTPContent((0..<10_000).map { _ in UInt8(bytes.next(256)) })
    return try HTTPTestServer { router in
      for (path, content) in [("/long", long), ("/short", short), ("/random", random)] {
        router.add(path) { _ in
          HTTPResponse(contentType: "text/plain", content: content, entityTag: "1")
        }
      }
    }
  }

  @Test func `a client that accepts gzip is sent compressed content`() throws {
    let server = try server()
    for _ in 0..<2 {
      let response = try server.ask("GET /long", "Accept-Encoding: br, gzip;q=0.5")
      #expect(response["Content-Encoding"] == "gzip")
      #expect(response["Vary"]?.contains("Accept-Encoding") == true)
      #expect(response["ETag"] == "\"1-gzip\"")
      #expect(response.body.count < Self.text.utf8.count / 3)
      #expect(
        String(decoding: gunzip(response.body, count: Self.text.utf8.count), as: UTF8.self) == Self.text
      )
    }
    let lists = try server.ask("GET /long", "Accept-Encoding: br", "Accept-Encoding: gzip")
    #expect(lists["Content-Encoding"] == "gzip")
    let head = try server.ask("HEAD /long", "Accept-Encoding: gzip")
    #expect(head["Content-Encoding"] == "gzip")
    #expect(try server.ask("GET /long", "Accept-Encoding: gzip", "If-None-Match: \"1-gzip\"").status == 304)
  }

  @Test(arguments: ["", "br", "gzip;q=0", "*;q=0", "identity"])
  func `a client that does not accept gzip is sent uncompressed content`(_ accepted: String) throws {
    let response = try server().ask("GET /long", "Accept-Encoding: \(accepted)")
    #expect(response["Content-Encoding"] == nil)
    #expect(response["ETag"] == "\"1\"")
    #expect(response.text == Self.text)
  }

  @Test(arguments: ["/short", "/random"])
  func `content that compression does not shorten is sent uncompressed`(_ path: String) throws {
    #expect(try server().ask("GET \(path)", "Accept-Encoding: gzip")["Content-Encoding"] == nil)
  }

  private func gunzip(_ bytes: [UInt8], count: Int) -> [UInt8] {
    // At a fixed address, because zlib keeps a pointer to it.
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    defer { stream.deallocate() }
    // 16: gzip format.
    inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    defer { inflateEnd(stream) }
    var input = bytes
    // One more byte than expected.
    var output = [UInt8](repeating: 0, count: count + 1)
    return input.withUnsafeMutableBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output in
        stream.pointee.next_in = input.baseAddress
        stream.pointee.avail_in = UInt32(input.count)
        stream.pointee.next_out = output.baseAddress
        stream.pointee.avail_out = UInt32(output.count)
        return inflate(stream, Z_FINISH) == Z_STREAM_END
          ? Array(output.prefix(Int(stream.pointee.total_out))) : []
      }
    }
  }
}
