import Glibc

/// What the system counts of a socket.
enum SocketBytes {
  /// Bytes that its other end has sent so far, read or not; 0 if the system does not tell.
  static func received(_ socket: Int32) -> UInt64 {
    // `struct tcp_info` of Linux, of which glibc's own header leaves out the end.
    withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { info in
      var size = socklen_t(info.count)
      guard getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, info.baseAddress, &size) == 0,
        Int(size) >= offsetOfReceived + MemoryLayout<UInt64>.size
      else { return 0 }
      return info.load(fromByteOffset: offsetOfReceived, as: UInt64.self)
    }
  }

  /// Of `tcpi_bytes_received`: after 8 numbers of 1 byte, 24 of 4, and 3 of 8.
  private static let offsetOfReceived = 8 + 24 * 4 + 3 * 8
}
