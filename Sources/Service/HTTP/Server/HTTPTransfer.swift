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

  /// Bytes that have not been sent; 0 once it was abandoned.
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

/// Where libmicrohttpd reads the content of one response, on its thread.
struct HTTPSource {
  /// Copies the bytes from a position, and returns their number, or one of `MHD_CONTENT_READER_END_…`.
  let take: (_ position: Int, _ target: UnsafeMutableRawBufferPointer) -> Int
  /// Called once: the content has been sent, or never will be.
  let release: () -> Void

  final class Box {
    let source: HTTPSource

    init(_ source: HTTPSource) { self.source = source }
  }

  /// A response with this content.
  ///
  /// - Parameter size: its bytes; nil if they are not known.
  func response(size: Int?, blockBytes: Int) -> OpaquePointer? {
    let box = Unmanaged.passRetained(Box(self)).toOpaque()
    let response = MHD_create_response_from_callback(
      size.map { UInt64($0) } ?? .max,
      blockBytes,
      { @Sendable in readHTTPSource($0, $1, $2, $3) },
      box,
      { @Sendable in releaseHTTPSource($0) }
    )
    if response == nil { releaseHTTPSource(box) }
    return response
  }
}

/// For libmicrohttpd: provides the next bytes of a content.
private func readHTTPSource(
  _ box: UnsafeMutableRawPointer?,
  _ position: UInt64,
  _ target: UnsafeMutablePointer<CChar>?,
  _ capacity: Int
) -> Int {
  guard let box, let target else { return -2 }
  let source = Unmanaged<HTTPSource.Box>.fromOpaque(box).takeUnretainedValue().source
  let bytes = UnsafeMutableRawBufferPointer(start: target, count: capacity)
  return source.take(Int(truncatingIfNeeded: position), bytes)
}

/// For libmicrohttpd: the response is over.
private func releaseHTTPSource(_ box: UnsafeMutableRawPointer?) {
  guard let box else { return }
  Unmanaged<HTTPSource.Box>.fromOpaque(box).takeRetainedValue().source.release()
}

/// A response prepared for one request, after content negotiation, with all header fields. No I/O.
struct HTTPReply {
  private(set) var status: Int
  private(set) var content: HTTPContent?
  private(set) var headers: [HTTPField] = []
  let openStream: (@Sendable (EventStream) -> Void)?
  let onTransfer: (@Sendable (HTTPTransfer, Int) -> (any Sendable & AnyObject)?)?
  private var isCompressed = false

  init(_ response: HTTPResponse, to head: HTTPRequestHead, _ origins: AllowedOrigins = AllowedOrigins()) {
    status = response.status
    content = response.content
    openStream = response.openStream
    onTransfer = response.onTransfer
    headers = [
      HTTPField("Cache-Control", response.cacheControl),
      HTTPField("X-Content-Type-Options", "nosniff"),
      HTTPField("Cross-Origin-Resource-Policy", "same-origin"),
      HTTPField("Content-Security-Policy", response.contentSecurityPolicy),
      // The same URL has other media types and a compressed form.
      HTTPField("Vary", origins.isEmpty ? "Accept, Accept-Encoding" : "Accept, Accept-Encoding, Origin"),
    ]
    headers += origins.fields(head) + response.headers
    if let contentType = response.contentType { headers.append(HTTPField("Content-Type", contentType)) }
    if let tag = response.entityTag, status == 200 || status == 304 {
      if let known = head.header("If-None-Match").flatMap({ EntityTag.matched(tag, by: $0) }) {
        leaveOut(known)
      } else {
        compress(head)
        headers.append(HTTPField("ETag", EntityTag.text(tag, isCompressed: isCompressed)))
      }
    } else {
      compress(head)
    }
  }

  private mutating func compress(_ head: HTTPRequestHead) {
    guard let content, content.isWorthCompressing, let accepted = head.header("Accept-Encoding"),
      QualityList(accepted).acceptsEncoding("gzip"), let compressed = content.gzipped()
    else { return }
    self.content = compressed
    isCompressed = true
    headers.append(HTTPField("Content-Encoding", "gzip"))
  }

  /// Omits the content: the client has the representation with this tag.
  private mutating func leaveOut(_ tag: String) {
    status = 304
    content = nil
    headers.removeAll { $0.name == "Content-Type" }
    headers.append(HTTPField("ETag", tag))
  }
}

/// Takes the response to one request, whose connection waits for it.
package final class HTTPLaterResponse: Sendable {
  private let state: Mutex<State>

  private struct State: @unchecked Sendable {
    // Unchecked: libmicrohttpd allows any thread to resume a connection.
    /// nil once it is resumed.
    var connection: OpaquePointer?
    var response: HTTPResponse?
  }

  /// - Parameter connection: it is suspended.
  init(_ connection: OpaquePointer) { state = Mutex(State(connection: connection)) }

  /// The response; nil until it is given.
  var response: HTTPResponse? { state.withLock(\.response) }

  /// Sends the response, unless one was given.
  package func give(_ response: HTTPResponse) {
    state.withLock { state in
      guard let connection = state.connection.take() else { return }
      state.response = response
      // Under the lock: once it is resumed, the connection may end.
      MHD_resume_connection(connection)
    }
  }
}
