import Glibc

/// A client on a plain socket, which sends requests unchanged, valid or not. Reads block until data arrives.
public final class HTTPTestClient {
  public struct Failure: Error {
    public let message: String

    public init(message: String) { self.message = message }
  }

  /// An object to keep alive, such as the server.
  public var owner: AnyObject?
  private var descriptor: Int32
  /// Received bytes that have not been used yet.
  public private(set) var received: [UInt8] = []

  /// - Parameters:
  ///   - source: the client's address, of those that begin with 127.
  ///   - receiveBufferBytes: for a client that should receive little; nil for the system's default.
  public init(port: Int, from source: String = "127.0.0.1", receiveBufferBytes: Int32? = nil) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw Failure(message: "socket: \(String(cString: strerror(errno)))") }
    if var bytes = receiveBufferBytes {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }
    // A test that waits for missing data should fail instead of hanging.
    var limit = timeval(tv_sec: 600, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let descriptor = descriptor
    let results = [(source, 0, bind), ("127.0.0.1", port, connect)].map { host, port, call in
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(port).bigEndian
      inet_pton(AF_INET, host, &address.sin_addr)
      return withUnsafeBytes(of: &address) { bytes in
        bytes.withMemoryRebound(to: sockaddr.self) {
          call(descriptor, $0.baseAddress!, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
    guard results == [0, 0] else {
      // `deinit` closes it.
      throw Failure(message: "connect: \(String(cString: strerror(errno)))")
    }
  }

  deinit { end() }

  /// Closes the connection.
  public func end() {
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
  }

  public func send(_ text: String) throws {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Failure(message: "send: \(String(cString: strerror(errno)))") }
      rest = rest.dropFirst(count)
    }
  }

  /// Sends a request with `Host` and the given header fields, then the content if there is any.
  public func request(_ line: String, _ headers: String..., body: String? = nil) throws {
    try request(line, headers, body)
  }

  /// Sends a request in the same way, and reads its response.
  public func ask(_ line: String, _ headers: String..., body: String? = nil) throws -> HTTPTestResponse {
    try request(line, headers, body)
    return try response()
  }

  private func request(_ line: String, _ headers: [String], _ body: String?) throws {
    let length = body.map { ["Content-Length: \($0.utf8.count)"] } ?? []
    let fields = (["Host: localhost"] + headers + length).map { $0 + "\r\n" }.joined()
    try send("\(line) HTTP/1.1\r\n\(fields)\r\n\(body ?? "")")
  }

  /// Reads one response with its content.
  ///
  /// - Parameter isHead: whether there is no content, whatever the header fields say.
  public func response(isHead: Bool = false) throws -> HTTPTestResponse {
    var response = try head()
    if isHead || response.status == 304 || response.status == 204 { return response }
    response.body = try take(Int(response["Content-Length"] ?? "") ?? 0)
    return response
  }

  /// Reads only the head of a response.
  public func head() throws -> HTTPTestResponse {
    try HTTPTestResponse(head: read(through: "\r\n\r\n"))
  }

  /// Reads the next chunk of a chunked content; empty at its end.
  public func chunk() throws -> String { String(decoding: try chunkBytes(), as: UTF8.self) }

  private func chunkBytes() throws -> ArraySlice<UInt8> {
    // A single Character in Swift.
    let size = try read(through: "\r\n").dropLast()
    guard let count = Int(size, radix: 16) else { throw Failure(message: "\(size) is not a chunk's size") }
    return try take(count + 2).dropLast(2)
  }

  /// Reads chunks until their content ends with a text.
  public func chunks(through end: String) throws -> String {
    var text = ""
    while !text.hasSuffix(end) {
      let chunk = try chunk()
      guard !chunk.isEmpty else { throw Failure(message: "the stream ended after \(text.suffix(200))") }
      text += chunk
    }
    return text
  }

  /// Reads chunks until their content contains some bytes. O(n) for n bytes.
  public func content(until wanted: String) throws -> [UInt8] {
    var content: [UInt8] = []
    while true {
      let searched = max(0, content.count - wanted.utf8.count)
      let chunk = try chunkBytes()
      guard !chunk.isEmpty else { throw Failure(message: "the stream ended after \(content.count) bytes") }
      content += chunk
      // The text has no zeros, so a C function can search it, in a tenth of the time.
      let isFound = (content[searched...] + [0]).withUnsafeBytes {
        strstr($0.baseAddress!.assumingMemoryBound(to: CChar.self), wanted) != nil
      }
      if isFound { return content }
    }
  }

  /// Reads until the server has closed the connection.
  public func rest() throws -> String {
    while (try? fill()) != nil {}
    return String(decoding: try take(received.count), as: UTF8.self)
  }

  /// Whether the server has closed the connection and no data is left. Waits for either.
  public func isAtEnd() -> Bool {
    received.isEmpty && (try? fill()) == nil
  }

  private func read(through end: String) throws -> String {
    let end = Array(end.utf8)
    var searched = 0
    while true {
      if received.count >= end.count {
        for start in searched...(received.count - end.count) where received[start...].starts(with: end) {
          return try String(decoding: take(start + end.count), as: UTF8.self)
        }
        searched = received.count - end.count + 1
      }
      try fill()
    }
  }

  private func take(_ count: Int) throws -> [UInt8] {
    while received.count < count { try fill() }
    defer { received.removeFirst(count) }
    return Array(received[..<count])
  }

  private func fill() throws {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    var count = recv(descriptor, &bytes, bytes.count, 0)
    // A process that was stopped and continued receives EINTR.
    while count < 0, errno == EINTR { count = recv(descriptor, &bytes, bytes.count, 0) }
    guard count > 0 else {
      if count == 0 { throw Failure(message: "the connection was closed") }
      if errno == EAGAIN { throw Failure(message: "nothing came for ten minutes") }
      throw Failure(message: String(cString: strerror(errno)))
    }
    received += bytes[..<count]
  }
}

/// A response as received.
public struct HTTPTestResponse: Sendable {
  public let status: Int
  public let headers: [(name: String, value: String)]
  public internal(set) var body: [UInt8] = []

  init(head: String) throws {
    let lines = head.split(separator: "\r\n")
    let parts = lines.first?.split(separator: " ") ?? []
    guard parts.count > 1, parts[0] == "HTTP/1.1", let status = Int(parts[1]) else {
      throw HTTPTestClient.Failure(message: "not an answer: \(head)")
    }
    self.status = status
    headers = lines.dropFirst().map { line in
      let name = line.prefix { $0 != ":" }
      return (String(name), String(line[name.endIndex...].dropFirst().drop { $0 == " " }))
    }
  }

  public var text: String { String(decoding: body, as: UTF8.self) }

  public subscript(name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }
}
