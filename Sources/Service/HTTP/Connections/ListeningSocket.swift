import Glibc

/// A socket that clients can connect to. Made here and not by libmicrohttpd, which does not say why it could
/// not.
struct ListeningSocket {
  let descriptor: Int32
  /// The port that it has, also when 0 was asked for.
  let port: Int

  /// - Parameters:
  ///   - address: One of this machine.
  ///   - port: 0 to 65535; 0 for any that is free.
  /// - Throws: ``HTTPServerError``.
  init(_ address: IPAddress, port: Int) throws(HTTPServerError) {
    guard let number = UInt16(exactly: port) else {
      throw HTTPServerError(.address, "\(port) is not a port; allowed: 0 to 65535")
    }
    descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw Self.error(address, port) }
    // A server that was just stopped leaves connections in TIME-WAIT, which should not keep the next from its
    // port.
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    let flags = fcntl(descriptor, F_GETFL)
    _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
    let descriptor = descriptor
    let isBound = address.withSocketAddress(port: number) { bind(descriptor, $0, $1) == 0 }
    guard isBound, listen(descriptor, SOMAXCONN) == 0 else {
      defer { close(descriptor) }
      throw Self.error(address, port)
    }
    self.port = Self.port(of: descriptor)
  }

  private static func port(of descriptor: Int32) -> Int {
    var storage = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutableBytes(of: &storage) { storage in
      _ = storage.withMemoryRebound(to: sockaddr.self) { getsockname(descriptor, $0.baseAddress!, &size) }
      // At the same place for IPv4 and IPv6.
      return Int(UInt16(bigEndian: storage.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
    }
  }

  /// The system's last error.
  private static func error(_ address: IPAddress, _ port: Int) -> HTTPServerError {
    let reason = errno
    let place = "cannot listen on \(address.host):\(port)"
    return switch reason {
    case EADDRINUSE:
      HTTPServerError(
        .portInUse,
        "\(place): the port is in use; stop the other program, or choose another port"
      )
    case EACCES:
      HTTPServerError(.denied, "\(place): ports below 1024 are for the superuser; choose another")
    case EADDRNOTAVAIL, EAFNOSUPPORT:
      HTTPServerError(
        .address,
        "\(place): this machine does not have the address; `ip address` lists its addresses"
      )
    default: HTTPServerError(.system, "\(place): \(String(cString: strerror(reason)))")
    }
  }
}
