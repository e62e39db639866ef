import Glibc

/// Tells the service manager how the process is: systemd's `sd_notify(3)` without its library.
///
/// The manager names a datagram socket in `NOTIFY_SOCKET`. Each message is sent without waiting; one that the manager has
/// no room for is lost, as nothing may hold up a process for it.
public struct SupervisorSocket: Sendable, Equatable {
  /// How often the manager wants to hear that the process is alive, in milliseconds: half of its limit; nil if it does not.
  public let watchdogMilliseconds: Int64?
  /// A path, or `@` and an abstract name.
  private let address: String

  /// - Parameters:
  ///   - variable: the value of an environment variable.
  ///   - processID: the watchdog may be meant for another process than this one; nil for this process's.
  /// - Returns: nil if nobody wants to be told, or the socket's name is none.
  public init?(processID: Int32? = nil, environment variable: (String) -> String?) {
    guard let address = variable("NOTIFY_SOCKET"), address.hasPrefix("/") || address.hasPrefix("@"),
      address.utf8.count > 1, address.utf8.count < Self.addressBytes
    else { return nil }
    self.address = address
    let isMeant = variable("WATCHDOG_PID").map { Int32($0) == processID ?? getpid() } ?? true
    let microseconds = variable("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
    watchdogMilliseconds = isMeant && microseconds > 0 ? max(1, microseconds / 2_000) : nil
  }

  /// Sends assignments such as `READY=1`, a line each.
  ///
  /// - Returns: whether the manager has been told.
  @discardableResult
  public func send(_ assignments: [String]) -> Bool {
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var target = sockaddr_un()
    target.sun_family = sa_family_t(AF_UNIX)
    let name = Array(address.utf8)
    withUnsafeMutableBytes(of: &target.sun_path) { path in
      path.copyBytes(from: name)
      // The name of an abstract socket begins with a zero.
      if name[0] == UInt8(ascii: "@") { path[0] = 0 }
    }
    // Of an abstract name every byte counts, and of a path the zero at its end may.
    let isPath = name[0] == UInt8(ascii: "/")
    let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + name.count + (isPath ? 1 : 0)
    let message = Array(assignments.map(Self.singleLine).joined(separator: "\n").utf8)
    let sent = withUnsafeBytes(of: &target) { target in
      target.withMemoryRebound(to: sockaddr.self) { target in
        message.withUnsafeBytes {
          sendto(
            descriptor,
            $0.baseAddress,
            $0.count,
            Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL),
            target.baseAddress,
            socklen_t(length)
          )
        }
      }
    }
    return sent == message.count
  }

  /// A line break would begin another assignment.
  private static func singleLine(_ text: String) -> String {
    String(decoding: text.utf8.map { $0 == 0x0A ? 0x20 : $0 }, as: UTF8.self)
  }

  private static let addressBytes = MemoryLayout<sockaddr_un>.size - MemoryLayout<sa_family_t>.size
}
