import FoundationEssentials

/// The Kafka cluster that tests may use, and what else the environment says of how to.
enum TestCluster {
  static let bootstrapServers = text("FEEDSTORE_TEST_BOOTSTRAP")
  static var isThere: Bool { bootstrapServers != nil }

  /// How often a test kills.
  static let kills = number("FEEDSTORE_TEST_KILLS") ?? 5
  /// A command that restarts the brokers; nil where they are not the tests' to restart.
  static let restartCommand = text("FEEDSTORE_TEST_RESTART")
  /// The command as an earlier commit has it; nil where none was built.
  static let earlierCommand = text("FEEDSTORE_TEST_EARLIER")
  /// Whether that one and the one of this commit can be members of one group.
  static let canMix = text("FEEDSTORE_TEST_EARLIER_CANNOT_MIX") == nil
  /// How long to go on; nil unless that is what was asked for.
  static let soakMinutes = number("FEEDSTORE_SOAK_MINUTES")

  /// What random choices begin with: another one each time, or the one of a run to be repeated.
  static var seed: UInt64 {
    text("FEEDSTORE_TEST_SEED").flatMap { UInt64($0) } ?? .random(in: 0...UInt64.max)
  }

  private static func text(_ name: String) -> String? {
    let text = ProcessInfo.processInfo.environment[name]
    return text?.isEmpty == false ? text : nil
  }

  private static func number(_ name: String) -> Int? { text(name).flatMap { Int($0) } }
}
