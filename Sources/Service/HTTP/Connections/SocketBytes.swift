import Glibc

/// The kernel's byte counters of a socket.
enum SocketBytes {
  /// The bytes that the peer has sent so far, read or not; 0 if they are not available.
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
