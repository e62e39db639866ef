/// The names by which a machine calls itself.
enum LoopbackHost {
  /// Whether a value of `Host`, with or without a port, is `localhost`, below it, or a loopback address.
  static func isLoopback(_ value: String) -> Bool {
    guard let host = HostField(value)?.host else { return false }
    let name = host.lowercased()
    return name == "localhost" || name.hasSuffix(".localhost") || IPAddress(name)?.isLoopback ?? false
  }
}
