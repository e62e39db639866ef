import Synchronization

/// The token that clients of a server must show at the moment.
final class RequiredToken: Sendable {
  private let current: Mutex<BearerToken?>

  init(_ token: BearerToken?) { current = Mutex(token) }

  /// Nil if they need none.
  var token: BearerToken? { current.withLock { $0 } }

  /// - Returns: whether it is another one than before.
  func replace(_ token: BearerToken?) -> Bool {
    current.withLock { current in
      defer { current = token }
      return current != token
    }
  }
}
