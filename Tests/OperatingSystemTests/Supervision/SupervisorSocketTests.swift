import HTTPTestSupport
import Testing

@testable import OperatingSystem

@Suite struct SupervisorSocketTests {
  @Test(arguments: [false, true])
  func `a message reaches the manager's socket, by a path or an abstract name`(isAbstract: Bool) throws {
    let manager = try TestSupervisor(isAbstract: isAbstract)
    let supervisor = try #require(SupervisorSocket { $0 == "NOTIFY_SOCKET" ? manager.address : nil })
    #expect(supervisor.send(["READY=1", "STATUS=two\nlines"]))
    #expect(try manager.receive() == "READY=1\nSTATUS=two lines")
    #expect(supervisor.watchdogMilliseconds == nil)
  }

  @Test func `without a socket nothing is sent`() {
    #expect(SupervisorSocket { _ in nil } == nil)
    for name in ["", "/", "@", "relative", "vsock:2:1234", "/" + String(repeating: "a", count: 200)] {
      #expect(SupervisorSocket { $0 == "NOTIFY_SOCKET" ? name : nil } == nil, "\(name)")
    }
  }

  @Test func `a manager that has ended does not stop the process`() throws {
    let supervisor = try #require(SupervisorSocket { $0 == "NOTIFY_SOCKET" ? "/tmp/feedstore-nobody" : nil })
    #expect(!supervisor.send(["READY=1"]))
  }

  @Test(arguments: [
    (nil, nil, nil), ("30000000", nil, 15_000), ("30000000", "7", 15_000), ("30000000", "8", nil),
    ("1", nil, 1), ("0", nil, nil), ("often", nil, nil),
  ])
  func `the watchdog interval is half of the limit, if it is meant for this process`(
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
