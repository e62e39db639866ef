/// Recognises names of the local machine.
enum LoopbackHost {
  /// Whether a value of `Host`, with or without a port, is `localhost`, a subdomain of it, or a loopback address.
  static func isLoopback(_ value: String) -> Bool {
    guard let host = HostField(value)?.host else { return false }
    let name = host.lowercased()
    return name == "localhost" || name.hasSuffix(".localhost") || IPAddress(name)?.isLoopback ?? false
  }
}
