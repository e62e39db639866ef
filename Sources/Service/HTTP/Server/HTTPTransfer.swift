import Synchronization

/// A response's content while it is sent to one client. It can be abandoned.
public final class HTTPTransfer: Sendable {
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
  public var remainingBytes: Int {
    state.withLock { state in (state.content?.count ?? state.sentCount) - state.sentCount }
  }

  /// Abandons the content: the client receives no more of it, and the connection is closed when it becomes writable, or
  /// at the response's deadline.
  public func cut() {
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

/// For libmicrohttpd: provides the next bytes of a content.
func readHTTPTransfer(
  _ transfer: UnsafeMutableRawPointer?,
  _ position: UInt64,
  _ target: UnsafeMutablePointer<CChar>?,
  _ capacity: Int
) -> Int {
  guard let transfer, let target else { return -2 }
  return Unmanaged<HTTPTransfer>.fromOpaque(transfer).takeUnretainedValue()
    .take(from: Int(position), into: UnsafeMutableRawBufferPointer(start: target, count: capacity))
}

/// For libmicrohttpd: the content has been sent, or never will be.
func releaseHTTPTransfer(_ transfer: UnsafeMutableRawPointer?) {
  guard let transfer else { return }
  Unmanaged<HTTPTransfer>.fromOpaque(transfer).takeRetainedValue().cut()
}
