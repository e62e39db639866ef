import Glibc

/// A TCP socket on the loopback interface, closed when its last reference is released.
final class LocalSocket: Sendable {
  private let descriptor: Int32

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Listens on a free port; nil if that is not possible.
  static func listen() -> (socket: LocalSocket, port: UInt16)? {
    guard let socket = make() else { return nil }
    var (address, size) = Self.address(port: 0)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket.descriptor, $0, size) == 0 && Glibc.listen(socket.descriptor, SOMAXCONN) == 0
          && getsockname(socket.descriptor, $0, &size) == 0
      }
    }
    return isListening ? (socket, UInt16(bigEndian: address.sin_port)) : nil
  }

  /// Connects to a port; nil if nothing listens there.
  static func connect(port: UInt16) -> LocalSocket? {
    guard let socket = make() else { return nil }
    var (address, size) = Self.address(port: port)
    let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(socket.descriptor, $0, size) == 0
      }
    }
    guard isConnected else { return nil }
    socket.sendAtOnce()
    return socket
  }

  /// Waits for a connection; nil when the socket is shut down.
  func accept() -> LocalSocket? {
    while true {
      let connection = Glibc.accept(descriptor, nil, nil)
      if connection >= 0 {
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        let socket = LocalSocket(connection)
        socket.sendAtOnce()
        return socket
      }
      switch errno {
      case EINTR, ECONNABORTED: continue
      case EMFILE, ENFILE, ENOBUFS, ENOMEM:
        // Out of descriptors: wait until some are closed.
        _ = poll(nil, 0, 100)
      default: return nil
      }
    }
  }

  /// Reads until the buffer is full; false at the end of the connection.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Bool {
    var done = 0
    while done < buffer.count {
      let count = recv(descriptor, buffer.baseAddress! + done, buffer.count - done, 0)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      done += count
    }
    return true
  }

  /// Writes all bytes; false if the peer is gone.
  func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var done = 0
    while done < bytes.count {
      let count = send(descriptor, bytes.baseAddress! + done, bytes.count - done, Int32(MSG_NOSIGNAL))
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      done += count
    }
    return true
  }

  /// Shuts the socket down, which ends all blocked calls.
  func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  private static func make() -> LocalSocket? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    return descriptor >= 0 ? LocalSocket(descriptor) : nil
  }

  private static func address(port: UInt16) -> (sockaddr_in, socklen_t) {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return (address, socklen_t(MemoryLayout<sockaddr_in>.size))
  }

  private func sendAtOnce() {
    var yes: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
  }
}
