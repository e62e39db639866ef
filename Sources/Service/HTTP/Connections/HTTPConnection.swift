/// The state of one connection that libmicrohttpd serves.
final class HTTPConnection: Sendable {
  /// The client's address; empty if it is not known.
  let address: String
  let socket: Int32

  init(address: String, socket: Int32) {
    self.address = address
    self.socket = socket
  }
}
