import Synchronization

/// The token that a server currently requires.
final class RequiredToken: Sendable {
  private let current: Mutex<BearerToken?>

  init(_ token: BearerToken?) { current = Mutex(token) }

  /// nil if no token is required.
  var token: BearerToken? { current.withLock { $0 } }

  /// - Returns: whether the token has changed.
  func replace(_ token: BearerToken?) -> Bool {
    current.withLock { current in
      defer { current = token }
      return current != token
    }
  }
}
