import Foundation

extension BrokerRun {
  /// Restarts the brokers, with the command that the environment names; returns once they are back.
  func restartBrokers() async throws {
    guard let command = TestCluster.restartCommand else {
      throw BrokerFailure("FEEDSTORE_TEST_RESTART names no command that restarts")
    }
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/bin/sh")
    shell.arguments = ["-c", command]
    shell.standardInput = FileHandle.nullDevice
    try shell.run()
    try await wait("the end of \(command)") { _ in !shell.isRunning }
    try BrokerFailure.check(shell.terminationStatus == 0, "\(command): \(shell.terminationStatus)")
  }
}
