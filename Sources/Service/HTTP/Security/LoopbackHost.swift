/// The names by which a machine calls itself.
enum LoopbackHost {
  /// Whether a value of `Host`, with or without a port, is `localhost`, below it, or a loopback address.
  static func isLoopback(_ value: String) -> Bool {
    let host: Substring
    if value.hasPrefix("[") {
      host = value.dropFirst().prefix { $0 != "]" }
    } else {
      host = value.prefix { $0 != ":" }
    }
    let name = host.lowercased()
    return name == "localhost" || name.hasSuffix(".localhost") || IPAddress(name)?.isLoopback ?? false
  }
}
