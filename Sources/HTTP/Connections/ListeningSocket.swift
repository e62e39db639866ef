import Glibc

/// A listening socket. libmicrohttpd does not create it, because it would not report the reason of a failure.
struct ListeningSocket {
  let descriptor: Int32
  /// The actual port, even if 0 was requested.
  let port: Int

  /// - Parameters:
  ///   - address: an address of this machine.
  ///   - port: 0 to 65535; 0 for any free port.
  ///   - sendBytes: the send buffer of each connection.
  ///   - receiveBytes: the receive buffer of each connection.
  /// - Throws: ``HTTPServerError``.
  init(_ address: IPAddress, port: Int, sendBytes: Int, receiveBytes: Int) throws(HTTPServerError) {
    guard let number = UInt16(exactly: port) else {
      throw HTTPServerError(.address, "\(port) is not a port; allowed: 0 to 65535")
    }
    descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw Self.error(address, port) }
    // Connections of a previous server in TIME-WAIT must not prevent a restart on the same port.
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    // Connections inherit the sizes.
    for (option, count) in [(SO_SNDBUF, sendBytes), (SO_RCVBUF, receiveBytes)] {
      var bytes = Int32(clamping: count)
      setsockopt(descriptor, SOL_SOCKET, option, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }
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
      // The port has the same offset for IPv4 and IPv6.
      return Int(UInt16(bigEndian: storage.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
    }
  }

  /// The error for the current `errno`.
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

/// The kernel's byte counters of a socket.
enum SocketBytes {
  /// The bytes that the peer has sent so far, read or not; 0 if unavailable.
  static func received(_ socket: Int32) -> UInt64 {
    // Linux's `struct tcp_info`; glibc's header omits its newer fields.
    withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { info in
      var size = socklen_t(info.count)
      guard getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, info.baseAddress, &size) == 0,
        Int(size) >= offsetOfReceived + MemoryLayout<UInt64>.size
      else { return 0 }
      return info.load(fromByteOffset: offsetOfReceived, as: UInt64.self)
    }
  }

  /// The offset of `tcpi_bytes_received`: after 8 fields of 1 byte, 24 of 4, and 3 of 8.
  private static let offsetOfReceived = 8 + 24 * 4 + 3 * 8
}
