import Glibc

/// A numeric IPv4 or IPv6 address.
struct IPAddress: Sendable, Equatable, CustomStringConvertible {
  /// 4 bytes of an IPv4 address, or 16 of an IPv6 one.
  private var bytes: [UInt8]

  /// Parses an address such as `127.0.0.1` or `::1`; nil if it is not valid.
  init?(_ text: String) {
    // `inet_pton` stops at a zero byte.
    guard !text.utf8.contains(0) else { return nil }
    bytes = [UInt8](repeating: 0, count: 4)
    if inet_pton(AF_INET, text, &bytes) == 1 { return }
    bytes = [UInt8](repeating: 0, count: 16)
    guard inet_pton(AF_INET6, text, &bytes) == 1 else { return nil }
  }

  /// nil for other address families.
  init?(_ address: UnsafePointer<sockaddr>?) {
    guard let address else { return nil }
    let raw = UnsafeRawPointer(address)
    switch Int32(address.pointee.sa_family) {
    case AF_INET:
      bytes = withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in.self).sin_addr) { Array($0) }
    case AF_INET6:
      bytes = withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr) { Array($0) }
    default: return nil
    }
  }

  /// Whether only this machine can reach it.
  var isLoopback: Bool {
    family == AF_INET ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
  }

  /// A key shared by all addresses that one client can easily obtain: an IPv4 address, even if mapped to IPv6, or the
  /// /64 network of an IPv6 address.
  var clientGroup: String {
    guard family == AF_INET6 else { return description }
    if bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xff, bytes[11] == 0xff {
      return bytes[12...].map(String.init).joined(separator: ".")
    }
    guard !isLoopback else { return description }
    var network = self
    network.bytes = bytes[..<8] + [UInt8](repeating: 0, count: 8)
    return network.description + "/64"
  }

  var family: Int32 { bytes.count == 4 ? AF_INET : AF_INET6 }

  /// The host part of a URL: an IPv6 address has brackets.
  var host: String {
    family == AF_INET6 ? "[\(description)]" : description
  }

  var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    _ = inet_ntop(family, bytes, &text, socklen_t(text.count))
    return text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  /// Calls with the address and port as a `sockaddr`.
  func withSocketAddress<Result>(
    port: UInt16,
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    let (size, place) =
      family == AF_INET
      ? (MemoryLayout<sockaddr_in>.size, MemoryLayout<sockaddr_in>.offset(of: \.sin_addr)!)
      : (MemoryLayout<sockaddr_in6>.size, MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr)!)
    var storage = sockaddr_storage()
    storage.ss_family = sa_family_t(family)
    return withUnsafeMutableBytes(of: &storage) { storage in
      // The port has the same offset for IPv4 and IPv6.
      storage.storeBytes(of: port.bigEndian, toByteOffset: 2, as: UInt16.self)
      UnsafeMutableRawBufferPointer(rebasing: storage[place...]).copyBytes(from: bytes)
      return storage.withMemoryRebound(to: sockaddr.self) { body($0.baseAddress!, socklen_t(size)) }
    }
  }
}
