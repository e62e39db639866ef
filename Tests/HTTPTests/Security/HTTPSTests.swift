import Foundation
import HTTPTestSupport
import ProcessSupport
import Synchronization
import Testing

@testable import HTTP

/// HTTPS with certificates from `openssl`, tested with `openssl s_client`.
@Suite struct HTTPSTests {
  /// A self-signed certificate, in a folder that is removed with it.
  final class TestCertificate {
    let folder: URL
    let certificate: String
    let key: String

    init(_ name: String) throws {
      folder = FileManager.default.temporaryDirectory.appending(path: "feedstore-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      certificate = folder.appending(path: "c.pem").path
      key = folder.appending(path: "k.pem").path
      let openssl = try OpenSSL(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=\(name) -days 1",
        "-keyout",
        key,
        "-out",
        certificate
      )
      _ = openssl.readToEnd()
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func credentials() throws -> TLSCredentials { try TLSCredentials(certificate: certificate, key: key) }
  }

  /// A running `openssl`, with its input and output.
  final class OpenSSL {
    private let process: ChildProcess
    private let input = Pipe()
    private let output = Pipe()
    private var text = ""

    /// - Parameters:
    ///   - command: the command and arguments without spaces.
    ///   - arguments: further arguments.
    init(_ command: String, _ arguments: String...) throws {
      process = try ChildProcess(
        "/usr/bin/env",
        ["openssl"] + command.split(separator: " ").map(String.init) + arguments,
        input: .pipe(input),
        output: .pipe(output)
      )
    }

    func send(_ text: String) { input.fileHandleForWriting.write(Data(text.utf8)) }

    /// The output up to a text.
    func read(to mark: String) -> String {
      while !text.contains(mark) {
        let data = output.fileHandleForReading.availableData
        if data.isEmpty { break }
        text += String(decoding: data, as: UTF8.self)
      }
      return text
    }

    func readToEnd() -> String {
      input.fileHandleForWriting.closeFile()
      text += String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitForEnd()
      return text
    }
  }

  private func server(
    _ certificate: TestCertificate,
    _ change: (inout HTTPServerConfiguration) -> Void = { _ in }
  ) throws -> HTTPTestServer {
    try HTTPTestServer {
      $0.tls = try certificate.credentials()
      change(&$0)
    } routes: { router in
      router.add("/a") { _ in HTTPResponse(contentType: "text/plain", content: HTTPContent("served")) }
    }
  }

  /// A client that was served over its connection.
  private func served(by server: HTTPTestServer) throws -> OpenSSL {
    let client = try OpenSSL("s_client -connect 127.0.0.1:\(server.server.port) -quiet -no_ign_eof")
    client.send(Self.request)
    #expect(client.read(to: "served").contains("200 OK"))
    return client
  }

  private static let request = "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n"

  /// The subject of the certificate that a new connection sees; nil if the connection ends before.
  private func subject(of server: HTTPTestServer) throws -> String? {
    let client = try OpenSSL("s_client -connect 127.0.0.1:\(server.server.port)")
    return client.readToEnd().split(separator: "\n").first { $0.hasPrefix("subject=") }?.description
  }

  @Test func `new connections see a replaced certificate, and open ones continue`() throws {
    let server = try server(TestCertificate("first"))
    #expect(server.server.url.hasPrefix("https://"))
    let open = try served(by: server)
    #expect(try subject(of: server) == "subject=CN = first")
    try server.server.replaceCredentials(TestCertificate("second").credentials())
    #expect(try subject(of: server) == "subject=CN = second")
    open.send(Self.request.replacing("/a", with: "/nothing"))
    #expect(open.read(to: "not-found").contains("404 Not Found"))
    _ = open.readToEnd()
  }

  @Test func `the number of earlier certificates with connections is bounded`() throws {
    let server = try server(TestCertificate("first"))
    let next = try TestCertificate("next").credentials()
    var clients: [OpenSSL] = []
    for _ in 0..<4 {
      clients.append(try served(by: server))
      try server.server.replaceCredentials(next)
    }
    clients.append(try served(by: server))
    let error = #expect(throws: HTTPServerError.self) { try server.server.replaceCredentials(next) }
    #expect(error?.code == .certificate)
    for client in clients { _ = client.readToEnd() }
  }

  @Test func `a client that does not finish the handshake is disconnected`() throws {
    let server = try server(TestCertificate("first")) { $0.headMilliseconds = 200 }
    let client = try server.connect()
    try client.send("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}")
    #expect(client.isAtEnd())
    #expect(client.received.isEmpty)
    // On a busy machine another handshake may take longer than is allowed here as well.
    var subject: String?
    while subject == nil { subject = try self.subject(of: server) }
    #expect(subject == "subject=CN = first")
  }

  @Test func `messages of a stream are encrypted`() throws {
    let streams = Mutex<[EventStream]>([])
    let server = try HTTPTestServer {
      $0.tls = try TestCertificate("first").credentials()
    } routes: { router in
      router.add("/events") { _ in .events { stream in streams.withLock { $0.append(stream) } } }
    }
    let client = try OpenSSL("s_client -connect 127.0.0.1:\(server.server.port) -quiet -no_ign_eof")
    client.send(Self.request.replacing("/a", with: "/events"))
    #expect(client.read(to: "retry").contains("200 OK"))
    let opened = streams.withLock { $0.first }
    let stream = try #require(opened)
    for number in 0..<3 {
      #expect(stream.write(EncodedEvent(data: Array("message \(number)".utf8))) == .queued)
      _ = client.read(to: "message \(number)\n\n")
    }
    stream.close()
    #expect(client.read(to: "\r\n0\r\n").contains("message 2"))
    _ = client.readToEnd()
  }

  @Test func `a certificate with another's key is refused`() throws {
    let (one, other) = (try TestCertificate("one"), try TestCertificate("other"))
    let error = #expect(throws: HTTPServerError.self) {
      try TLSCredentials(certificate: one.certificate, key: other.key)
    }
    #expect(error?.code == .certificate)
    #expect(error?.message.contains("cannot be used together") == true)
  }

  @Test func `a description of credentials does not contain the key`() throws {
    let credentials = try TestCertificate("one").credentials()
    var text = ""
    dump(credentials, to: &text)
    #expect(!("\(credentials)" + text).contains("PRIVATE"))
  }
}
