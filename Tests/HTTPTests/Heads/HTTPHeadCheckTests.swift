import FeedTestSupport
import Testing

@testable import HTTP

/// The head of a request, checked as bytes.
@Suite struct HTTPHeadCheckTests {
  private static let get = "GET / HTTP/1.1\r\nHost: localhost\r\n"

  private static func verdict(_ bytes: [UInt8]) -> HTTPHeadVerdict {
    var check = HTTPHeadCheck()
    return bytes.withUnsafeBytes { check.read($0) }
  }

  @Test(arguments: [
    "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "GET / HTTP/1.0\r\n\r\n",
    "\r\nGET / HTTP/1.1\r\nhost:localhost\r\n\r\n",
    "get /\u{e9}?a&b=1 HTTP/1.1\r\nHost: [::1]:8321\r\nX-\u{21}: \u{e9}\t \r\nContent-Length: 0\r\n\r\n",
    "GET / HTTP/1.1\r\nHost:\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a.example:\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: 127.0.0.1:65535\r\nContent-Length:  1048576 \r\n\r\n",
  ])
  func `a valid head is accepted, however it is split`(_ text: String) {
    let bytes = Array(text.utf8)
    #expect(Self.verdict(bytes) == .complete(length: bytes.count))
    // Bytes after the head are not examined.
    #expect(Self.verdict(bytes + [0, 10, 13]) == .complete(length: bytes.count))
    var check = HTTPHeadCheck()
    for count in 0..<bytes.count {
      #expect(bytes[..<count].withUnsafeBytes { check.read($0) } == .incomplete)
    }
    #expect(bytes.withUnsafeBytes { check.read($0) } == .complete(length: bytes.count))
  }

  static let refused: [(text: String, status: Int, code: String)] = [
    ("hello\r\n", 400, "invalid-request"),
    ("\r\n\r\n", 400, "invalid-request"),
    ("GET /\r\n", 400, "invalid-request"),
    ("GET  / HTTP/1.1\r\n", 400, "invalid-request"),
    ("GET / HTTP/1.1 \r\n", 400, "invalid-request"),
    ("GET /\ta HTTP/1.1\r\n", 400, "invalid-request"),
    ("G@T / HTTP/1.1\r\n", 400, "invalid-request"),
    ("GET / HTTQ/1.1\r\n", 400, "invalid-request"),
    ("\u{16}\u{3}\u{1}", 400, "invalid-request"),
    ("GET /\0", 400, "invalid-request"),
    ("GET /\u{7f}", 400, "invalid-request"),
    ("GET / HTTP/1.1\n", 400, "invalid-request"),
    ("GET / HTTP/1.1\r\r", 400, "invalid-request"),
    (get + "A: b\rc", 400, "invalid-request"),
    (get + "A: \0", 400, "invalid-request"),
    (get + "A: b\n", 400, "invalid-request"),
    (get + "\n", 400, "invalid-request"),
    (get + "A : b\r\n", 400, "invalid-request"),
    (get + " A: b\r\n", 400, "invalid-request"),
    (get + "\tb\r\n", 400, "invalid-request"),
    (get + ": b\r\n", 400, "invalid-request"),
    (get + "A\r\n", 400, "invalid-request"),
    ("PRI * HTTP/2.0\r\n", 505, "version-not-supported"),
    ("GET / HTTP/1.2\r\n", 505, "version-not-supported"),
    ("GET / HTTP/1.1\r\n\r\n", 400, "invalid-host"),
    (get + "hOST: localhost\r\n", 400, "invalid-host"),
    ("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n", 400, "invalid-host"),
    (get + "Content-Length: 0\r\nContent-Length: 0\r\n", 400, "invalid-length"),
    (get + "Content-Length: 5\r\nContent-Length: 6\r\n", 400, "invalid-length"),
    (get + "Content-Length: 5, 5\r\n", 400, "invalid-length"),
    (get + "Content-Length: -1\r\n", 400, "invalid-length"),
    (get + "Content-Length: +1\r\n", 400, "invalid-length"),
    (get + "Content-Length: 0x1\r\n", 400, "invalid-length"),
    (get + "Content-Length:\r\n", 400, "invalid-length"),
    (get + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "invalid-length"),
    (get + "Transfer-Encoding: chunked\r\n\r\n", 411, "length-required"),
    (get + "Content-Length: 1048577\r\n\r\n", 413, "content-too-large"),
    (get + "Content-Length: 99999999999999999999\r\n\r\n", 413, "content-too-large"),
    ("GET /" + String(repeating: "x", count: 16 << 10), 414, "target-too-long"),
    ("GET /?" + String(repeating: "&", count: 260) + " HTTP/1.1\r\n", 414, "target-too-long"),
    (get + "A: " + String(repeating: "x", count: 16 << 10), 431, "head-too-large"),
    (get + String(repeating: "A: b\r\n", count: 100), 431, "head-too-large"),
  ]

  @Test(arguments: refused)
  func `a fault is reported at its first invalid byte`(_ text: String, _ status: Int, _ code: String) {
    let bytes = Array(text.utf8)
    guard case .refused(let fault) = Self.verdict(bytes) else {
      Issue.record("\(text.prefix(60).debugDescription) is not refused")
      return
    }
    #expect(fault.status == status)
    #expect(fault.code == code)
    // The verdict comes with the last byte, also if the bytes arrive in pieces.
    var check = HTTPHeadCheck()
    let verdicts = (1...bytes.count).map { count in bytes[..<count].withUnsafeBytes { check.read($0) } }
    let first = verdicts.firstIndex { $0 != .incomplete }
    #expect(first.map { verdicts[$0...].allSatisfy { $0 == .refused(fault) } } == true)
  }

  @Test(arguments: [
    "[::1]evil.com", "[::1", "::1", "[::1]:x", "[::1]:65536", "[localhost]", "[127.0.0.1]", "[]",
    "a@localhost", "user:1@localhost", "localhost:80:80", "localhost:65536", "localhost:-1", "local host",
    "localhost/", "localhost,evil.com:", "http://localhost", "a\u{e9}", "a\"b", "localhost:99999999999",
  ])
  func `an invalid host is refused`(_ host: String) {
    // A comma is allowed in a host name, but not in a loopback name.
    if host == "localhost,evil.com:" {
      #expect(HostField(host)?.isLoopback != true)
      return
    }
    #expect(HostField(host) == nil)
    let verdict = Self.verdict(Array("GET / HTTP/1.1\r\nHost: \(host)\r\n".utf8))
    guard case .refused(let fault) = verdict else {
      Issue.record("\(host) is not refused")
      return
    }
    #expect(fault.status == 400)
    #expect(fault.code == "invalid-host")
  }

  /// Bytes in pieces get the same verdict as the whole, and nothing is read past the end.
  @Test func `random heads get the same verdict, however they are split`() {
    let parts = [
      "GET ", "/", " ", "HTTP/1.1", "\r\n", "\r", "\n", "Host: a", "Host", ":", "Content-Length: 1", "\0",
      "?a&b",
      "Transfer-Encoding: x", "\t", "\u{e9}", "HTTP/1.0", "[::1]", "x", "\r\n\r\n",
    ]
    for seed in UInt64(0)..<2000 {
      var random = SeededRandom(seed)
      let text = (0..<random.next(12) + 1).map { _ in parts[random.next(parts.count)] }.joined()
      let bytes = Array((seed % 2 == 0 ? "GET / HTTP/1.1\r\n" + text : text).utf8)
      var check = HTTPHeadCheck()
      var last = HTTPHeadVerdict.incomplete
      for count in 0...bytes.count {
        let verdict = bytes[..<count].withUnsafeBytes { check.read($0) }
        if last != .incomplete { #expect(verdict == last, "seed \(seed)") }
        last = verdict
      }
      #expect(last == Self.verdict(bytes), "seed \(seed)")
      if case .complete(let length) = last {
        #expect(bytes[..<length].suffix(4).elementsEqual("\r\n\r\n".utf8), "seed \(seed)")
      }
    }
  }
}
