import Glibc
package import Synchronization

/// Reports the process's state to the service manager: systemd's `sd_notify(3)` without its library.
///
/// `NOTIFY_SOCKET` names a datagram socket. Messages are sent without blocking; if the manager's queue is full, a
/// message is lost.
package struct SupervisorSocket: Sendable, Equatable {
  /// The interval at which the manager expects a sign of life, in milliseconds: half of its limit; nil for none.
  package let watchdogMilliseconds: Int64?
  /// A path, or `@` and an abstract name.
  private let address: String

  /// - Parameters:
  ///   - variable: returns the value of an environment variable.
  ///   - processID: the id of this process, because the watchdog may be meant for another; nil to look it up.
  /// - Returns: nil if there is no service manager, or the socket's name is invalid.
  package init?(processID: Int32? = nil, environment variable: (String) -> String?) {
    guard let address = variable("NOTIFY_SOCKET"), address.hasPrefix("/") || address.hasPrefix("@"),
      address.utf8.count > 1, address.utf8.count < Self.addressBytes
    else { return nil }
    self.address = address
    let isMeant = variable("WATCHDOG_PID").map { Int32($0) == processID ?? getpid() } ?? true
    let microseconds = variable("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
    watchdogMilliseconds = isMeant && microseconds > 0 ? max(1, microseconds / 2_000) : nil
  }

  /// Sends assignments such as `READY=1`, one per line.
  ///
  /// - Returns: whether the message was sent.
  @discardableResult
  package func send(_ assignments: [String]) -> Bool {
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var target = sockaddr_un()
    target.sun_family = sa_family_t(AF_UNIX)
    let name = Array(address.utf8)
    withUnsafeMutableBytes(of: &target.sun_path) { path in
      path.copyBytes(from: name)
      // An abstract socket name begins with a zero byte.
      if name[0] == UInt8(ascii: "@") { path[0] = 0 }
    }
    // Every byte of an abstract name counts; a path may end with a zero byte.
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

  /// Removes line breaks, which would begin another assignment.
  private static func singleLine(_ text: String) -> String {
    String(decoding: text.utf8.map { $0 == 0x0A ? 0x20 : $0 }, as: UTF8.self)
  }

  private static let addressBytes = MemoryLayout<sockaddr_un>.size - MemoryLayout<sa_family_t>.size
}

/// A request for an orderly stop: set once, from any thread, and polled often.
package final class StopRequest: Sendable {
  /// The process's own, which signals make.
  package static let process = StopRequest(graceMilliseconds: briefMilliseconds)

  /// When the stop was requested, in milliseconds of the monotonic clock; 0 before.
  private let requestedAt = Atomic<Int64>(0)
  private let clock: @Sendable () -> Int64
  /// The time for the stop, in milliseconds.
  package let grace: Atomic<Int64>
  /// The number of records that a command has processed, for its last message if it is killed; -1 if it does
  /// not count.
  package let records = Atomic<Int>(-1)

  /// The maximum time for an orderly stop. After that, the owner of the process ends it: without brokers, a few calls
  /// of librdkafka exceed their timeouts.
  package static let graceMilliseconds: Int64 = 10_000
  /// The same for a command that has nothing to put in order.
  package static let briefMilliseconds: Int64 = 700

  /// - Parameter clock: milliseconds of the monotonic clock.
  package init(
    graceMilliseconds: Int64 = StopRequest.graceMilliseconds,
    clock: @escaping @Sendable () -> Int64 = MonotonicClock.milliseconds
  ) {
    grace = Atomic(graceMilliseconds)
    self.clock = clock
  }

  /// Waits until a descriptor can be read, or a stop is requested.
  ///
  /// - Returns: whether it can be read.
  package func waitToRead(_ descriptor: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while !isRequested {
      if poll(&entry, 1, 100) > 0 { return true }
    }
    return false
  }

  /// Whether a descriptor can be written to without waiting.
  package static func canWrite(to descriptor: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&entry, 1, 0) > 0
  }

  /// Requests the stop; repeated requests have no effect.
  package func request() {
    let now = max(1, clock())
    _ = requestedAt.compareExchange(expected: 0, desired: now, ordering: .relaxed)
  }

  package var isRequested: Bool { requestedAt.load(ordering: .relaxed) != 0 }

  /// When to give up, in milliseconds of the monotonic clock, with a tenth of the time left for closing; nil before a stop
  /// is requested.
  package var deadline: Int64? {
    let requestedAt = requestedAt.load(ordering: .relaxed)
    return requestedAt == 0 ? nil : requestedAt + grace.load(ordering: .relaxed) * 9 / 10
  }
}
