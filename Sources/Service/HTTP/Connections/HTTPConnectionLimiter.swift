import Synchronization

/// Counts connections, and says which are too many.
///
/// libmicrohttpd has limits, too, but closes what is above without a word. They are a little higher, so that
/// a few clients are told.
final class HTTPConnectionLimiter: Sendable {
  /// How many connections above a limit are still told so.
  static let reserve = 64

  private let limit: Int
  private let limitPerAddress: Int
  private let state = Mutex(State())

  private struct State {
    var count = 0
    var byAddress: [String: Int] = [:]
  }

  init(limit: Int, limitPerAddress: Int) {
    self.limit = limit
    self.limitPerAddress = limitPerAddress
  }

  var count: Int { state.withLock(\.count) }

  /// Counts a connection, which must be given back with ``close(_:)``, refused or not.
  func open(from address: String) -> HTTPConnection {
    let (count, ofAddress) = state.withLock { state in
      state.count += 1
      state.byAddress[address, default: 0] += 1
      return (state.count, state.byAddress[address] ?? 0)
    }
    var refusal: String?
    if count > limit { refusal = "\(limit) connections are open, and no more may be" }
    if ofAddress > limitPerAddress {
      refusal = "\(limitPerAddress) connections from \(address) are open, and no more may be"
    }
    return HTTPConnection(address: address, refusal: refusal)
  }

  func close(_ connection: HTTPConnection) {
    state.withLock { state in
      state.count -= 1
      let left = (state.byAddress[connection.address] ?? 1) - 1
      state.byAddress[connection.address] = left > 0 ? left : nil
    }
  }
}
