/// What is known of one connection, from its start to its end.
final class HTTPConnection: Sendable {
  /// The client's; empty if it is not known.
  let address: String
  /// Why its first request is answered 503; nil if it is served.
  let refusal: String?

  init(address: String, refusal: String?) {
    self.address = address
    self.refusal = refusal
  }
}
