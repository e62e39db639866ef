/// What libmicrohttpd keeps for one connection, from its start to its end.
final class HTTPConnection: Sendable {
  /// The client's; empty if it is not known.
  let address: String
  let socket: Int32

  init(address: String, socket: Int32) {
    self.address = address
    self.socket = socket
  }
}
