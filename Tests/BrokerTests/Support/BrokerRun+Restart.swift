import ObservationSupport

extension BrokerRun {
  /// Restarts the brokers with the command from the environment. Returns when the command has ended; its background
  /// processes may continue.
  func restartBrokers() async throws {
    guard let command = TestCluster.restartCommand else {
      throw BrokerFailure("FEEDSTORE_TEST_RESTART names no command that restarts")
    }
    let shell = try ShellCommand(command)
    try await wait("the end of \(command)") { _ in shell.exitCode != nil }
    let code = shell.exitCode
    try BrokerFailure.check(code == 0, "\(command): exit code \(code ?? -1)")
  }
}
