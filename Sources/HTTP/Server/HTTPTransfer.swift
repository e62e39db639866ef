internal import CMicrohttpd
import Synchronization

/// A response's content while it is sent to one client. It can be abandoned.
package final class HTTPTransfer: Sendable {
  private let state: Mutex<State>

  private struct State {
    /// nil once it has been sent or abandoned.
    var content: HTTPContent?
    var owner: (any Sendable & AnyObject)?
    var sentCount = 0
  }

  init(_ content: HTTPContent) {
    state = Mutex(State(content: content))
  }

  /// Unsent bytes; 0 once the content was abandoned.
  package var remainingBytes: Int {
    state.withLock { state in (state.content?.count ?? state.sentCount) - state.sentCount }
  }

  /// Abandons the content: the client receives no more of it, and the connection is closed when it becomes writable, or
  /// at the response's deadline.
  package func cut() {
    state.withLock { state in
      state.content = nil
      state.owner = nil
    }
  }

  /// Keeps an object alive until the content is released.
  func keep(_ owner: (any Sendable & AnyObject)?) {
    state.withLock { $0.owner = owner }
  }

  /// For libmicrohttpd: copies the bytes from a position.
  ///
  /// - Returns: the number of bytes, or one of `MHD_CONTENT_READER_END_…`.
  func take(from position: Int, into target: UnsafeMutableRawBufferPointer) -> Int {
    state.withLock { state in
      // -2: the connection is closed within the response.
      guard let content = state.content, position < content.count else { return -2 }
      let count = min(content.count - position, target.count)
      content.withUnsafeBytes { bytes in
        target.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[position..<position + count]))
      }
      state.sentCount = position + count
      return count
    }
  }
}

/// The source of one response's content for libmicrohttpd, on its thread.
final class HTTPSource {
  /// Copies the bytes from a position, and returns their number, or one of `MHD_CONTENT_READER_END_…`.
  let take: (_ position: Int, _ target: UnsafeMutableRawBufferPointer) -> Int
  /// Called once: the content has been sent, or never will be.
  let release: () -> Void

  init(
    take: @escaping (_ position: Int, _ target: UnsafeMutableRawBufferPointer) -> Int,
    release: @escaping () -> Void
  ) {
    self.take = take
    self.release = release
  }

  private static func of(_ pointer: UnsafeMutableRawPointer) -> Unmanaged<HTTPSource> { .fromOpaque(pointer) }

  /// A response with this content.
  ///
  /// - Parameter size: its size in bytes; nil if unknown.
  func response(size: Int?, blockBytes: Int) -> OpaquePointer? {
    let box = Unmanaged.passRetained(self).toOpaque()
    let response = MHD_create_response_from_callback(
      size.map { UInt64($0) } ?? .max,
      blockBytes,
      { @Sendable box, position, target, capacity in
        guard let box, let target else { return -2 }
        let bytes = UnsafeMutableRawBufferPointer(start: target, count: capacity)
        return HTTPSource.of(box).takeUnretainedValue().take(Int(truncatingIfNeeded: position), bytes)
      },
      box,
      { @Sendable in if let box = $0 { HTTPSource.of(box).takeRetainedValue().release() } }
    )
    if response == nil { HTTPSource.of(box).takeRetainedValue().release() }
    return response
  }
}

extension HTTPResponse {
  /// The response to one request, after content negotiation, with all header fields. No I/O.
  func prepared(
    for head: HTTPRequestHead,
    _ origins: AllowedOrigins = AllowedOrigins()
  ) -> HTTPResponse {
    var reply = self
    reply.headers = [
      HTTPField("Cache-Control", cacheControl),
      HTTPField("X-Content-Type-Options", "nosniff"),
      HTTPField("Cross-Origin-Resource-Policy", "same-origin"),
      HTTPField("Content-Security-Policy", contentSecurityPolicy),
      // The same URL has other media types and a compressed form.
      HTTPField("Vary", origins.isEmpty ? varies : varies + ", Origin"),
    ]
    reply.headers += origins.fields(head) + headers
    if let contentType { reply.headers.append(HTTPField("Content-Type", contentType)) }
    guard let tag = entityTag, status == 200 || status == 304 else {
      reply.compress(head)
      return reply
    }
    if let known = head.header("If-None-Match").flatMap({ EntityTag.matched(tag, by: $0) }) {
      reply.leaveOut(known)
    } else {
      let isCompressed = reply.compress(head)
      reply.headers.append(HTTPField("ETag", EntityTag.text(tag, isCompressed: isCompressed)))
    }
    return reply
  }

  /// - Returns: whether the content is compressed.
  @discardableResult
  private mutating func compress(_ head: HTTPRequestHead) -> Bool {
    guard let content, content.isWorthCompressing, let accepted = head.header("Accept-Encoding"),
      QualityList(accepted).acceptsEncoding("gzip"), let compressed = content.gzipped()
    else { return false }
    self.content = compressed
    headers.append(HTTPField("Content-Encoding", "gzip"))
    return true
  }

  /// Omits the content: the client has the representation with this tag.
  private mutating func leaveOut(_ tag: String) {
    status = 304
    content = nil
    headers.removeAll { $0.name == "Content-Type" }
    headers.append(HTTPField("ETag", tag))
  }
}

/// Receives the response to one request, whose connection waits for it.
package final class HTTPLaterResponse: Sendable {
  private let state: Mutex<State>

  private struct State: @unchecked Sendable {
    // Unchecked: libmicrohttpd allows any thread to resume a connection.
    /// nil once the connection was resumed.
    var connection: OpaquePointer?
    var response: HTTPResponse?
  }

  /// - Parameter connection: a suspended connection.
  init(_ connection: OpaquePointer) { state = Mutex(State(connection: connection)) }

  /// The response; nil before it arrives.
  var response: HTTPResponse? { state.withLock(\.response) }

  /// Sends the response, unless there is one already.
  package func give(_ response: HTTPResponse) {
    state.withLock { state in
      guard let connection = state.connection.take() else { return }
      state.response = response
      // Under the lock: once it is resumed, the connection may end.
      MHD_resume_connection(connection)
    }
  }
}
