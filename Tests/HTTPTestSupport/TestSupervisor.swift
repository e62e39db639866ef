import Glibc

/// A service manager's end of the protocol: a datagram socket that receives notices.
public final class TestSupervisor: Sendable {
  /// The value for `NOTIFY_SOCKET`.
  public let address: String
  private let descriptor: Int32

  /// - Parameter isAbstract: whether the socket's name is abstract instead of a path.
  public init(isAbstract: Bool) throws {
    let name = "feedstore-notify-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    address = isAbstract ? "@" + name : "/tmp/" + name
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    // A test that waits for missing data should fail instead of hanging.
    var limit = timeval(tv_sec: 600, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var own = sockaddr_un()
    own.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(address.utf8)
    withUnsafeMutableBytes(of: &own.sun_path) {
      $0.copyBytes(from: bytes)
      if isAbstract { $0[0] = 0 }
    }
    let length = MemoryLayout<sa_family_t>.size + bytes.count
    let descriptor = descriptor
    let result = withUnsafeBytes(of: &own) {
      $0.withMemoryRebound(to: sockaddr.self) { bind(descriptor, $0.baseAddress, socklen_t(length)) }
    }
    guard result == 0 else {
      throw HTTPTestClient.Failure(message: "bind: \(String(cString: strerror(errno)))")
    }
  }

  deinit {
    close(descriptor)
    if address.hasPrefix("/") { unlink(address) }
  }

  /// Waits for the next datagram.
  public func receive() throws -> String {
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    guard count >= 0 else { throw HTTPTestClient.Failure(message: "no notice came for ten minutes") }
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }
}
