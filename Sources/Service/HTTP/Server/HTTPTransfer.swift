import Synchronization

/// An answer's content on its way to one client, which can be given up before the client has it.
public final class HTTPTransfer: Sendable {
  private let state: Mutex<State>

  private struct State {
    /// Nil once it is sent or given up.
    var content: HTTPContent?
    var owner: (any Sendable & AnyObject)?
    var sentCount = 0
  }

  init(_ content: HTTPContent) {
    state = Mutex(State(content: content))
  }

  /// Bytes that the client has not been sent; 0 once it was given up.
  public var remainingBytes: Int {
    state.withLock { state in (state.content?.count ?? state.sentCount) - state.sentCount }
  }

  /// Lets the content go: the client gets no more of it, and the connection is closed when it could take more, or at
  /// the answer's deadline.
  public func cut() {
    state.withLock { state in
      state.content = nil
      state.owner = nil
    }
  }

  /// Keeps an object until the content is let go.
  func keep(_ owner: (any Sendable & AnyObject)?) {
    state.withLock { $0.owner = owner }
  }

  /// For libmicrohttpd: the bytes from a position on.
  ///
  /// - Returns: How many were written, or one of `MHD_CONTENT_READER_END_…`.
  func take(from position: Int, into target: UnsafeMutableRawBufferPointer) -> Int {
    state.withLock { state in
      // -2: the connection is closed in the middle.
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

/// For libmicrohttpd: the next bytes of a content.
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

/// For libmicrohttpd: a content is sent, or will never be.
func releaseHTTPTransfer(_ transfer: UnsafeMutableRawPointer?) {
  guard let transfer else { return }
  Unmanaged<HTTPTransfer>.fromOpaque(transfer).takeRetainedValue().cut()
}
