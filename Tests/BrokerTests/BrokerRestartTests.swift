import Foundation
import Testing

extension OnCluster {
  /// Brokers that go and come back.
  struct BrokerRestartTests {
    @Test(
      .enabled(if: TestCluster.restartCommand != nil, "FEEDSTORE_TEST_RESTART names no command that restarts")
    )
    func `brokers that are restarted are waited for`() async throws {
      let command = try #require(TestCluster.restartCommand)
      try await BrokerRun.on("brokers") { run in
        run.load.start()
        let members = [try run.start(), try run.start()]
        try await run.waitForRecords(of: members)
        for _ in 0..<2 {
          let shell = Process()
          shell.executableURL = URL(fileURLWithPath: "/bin/sh")
          shell.arguments = ["-c", command]
          shell.standardInput = FileHandle.nullDevice
          try shell.run()
          try await run.wait("the end of \(command)") { _ in !shell.isRunning }
          try BrokerFailure.check(shell.terminationStatus == 0, "\(command): \(shell.terminationStatus)")
          // What was on its way may still come while the brokers go.
          try await run.waitForRecords(300)
          try await run.waitForRecords(of: members)
        }
      }
    }
  }
}
