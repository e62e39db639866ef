import Glibc
import Testing

@testable import Service

@Suite struct SupervisorSocketTests {
  /// What systemd would be: a datagram socket of the test's own.
  private final class Manager {
    let address: String
    private let descriptor: Int32

    /// - Parameter isAbstract: whether its name is no path.
    init(isAbstract: Bool) throws {
      let name = "feedstore-notify-\(getpid())-\(UInt64.random(in: 0 ... .max))"
      address = isAbstract ? "@" + name : "/tmp/" + name
      descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
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
      try #require(result == 0)
    }

    deinit {
      close(descriptor)
      if address.hasPrefix("/") { unlink(address) }
    }

    func receive() -> String {
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = recv(descriptor, &bytes, bytes.count, 0)
      return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
  }

  @Test(arguments: [false, true])
  func `a message reaches the manager's socket, by a path or an abstract name`(isAbstract: Bool) throws {
    let manager = try Manager(isAbstract: isAbstract)
    let supervisor = try #require(SupervisorSocket { $0 == "NOTIFY_SOCKET" ? manager.address : nil })
    #expect(supervisor.send(["READY=1", "STATUS=two\nlines"]))
    #expect(manager.receive() == "READY=1\nSTATUS=two lines")
    #expect(supervisor.watchdogMilliseconds == nil)
  }

  @Test func `without a socket nobody is told`() {
    #expect(SupervisorSocket { _ in nil } == nil)
    for name in ["", "/", "@", "relative", "vsock:2:1234", "/" + String(repeating: "a", count: 200)] {
      #expect(SupervisorSocket { $0 == "NOTIFY_SOCKET" ? name : nil } == nil, "\(name)")
    }
  }

  @Test func `a manager that is gone does not stop the process`() throws {
    let supervisor = try #require(SupervisorSocket { $0 == "NOTIFY_SOCKET" ? "/tmp/feedstore-nobody" : nil })
    #expect(!supervisor.send(["READY=1"]))
  }

  @Test(arguments: [
    (nil, nil, nil), ("30000000", nil, 15_000), ("30000000", "7", 15_000), ("30000000", "8", nil),
    ("1", nil, 1), ("0", nil, nil), ("often", nil, nil),
  ])
  func `the watchdog is told in half of its time, if it is meant for this process`(
    microseconds: String?,
    process: String?,
    milliseconds: Int64?
  ) throws {
    let variables = [
      "NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": microseconds, "WATCHDOG_PID": process,
    ]
    let supervisor = try #require(SupervisorSocket(processID: 7) { variables[$0] ?? nil })
    #expect(supervisor.watchdogMilliseconds == milliseconds)
  }
}
