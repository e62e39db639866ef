/// The state of one connection that libmicrohttpd serves.
final class HTTPConnection: Sendable {
  /// The client's address; empty if it is not known.
  let address: String
  /// The client's address group, the same for all addresses that one client can easily obtain.
  let addressGroup: String
  let socket: Int32

  init(_ address: IPAddress?, socket: Int32) {
    self.address = address?.description ?? ""
    addressGroup = address?.clientGroup ?? ""
    self.socket = socket
  }
}
