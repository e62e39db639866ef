/// A command line that cannot be understood. The process should print it and exit with ``ExitCode/usage``.
public struct UsageError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What is wrong with a command line.
  public enum Code: String, Sendable {
    case missingCommand = "missing-command"
    case unknownCommand = "unknown-command"
    case unknownOption = "unknown-option"
    case missingValue = "missing-value"
    case unexpectedValue = "unexpected-value"
    case repeatedOption = "repeated-option"
    case invalidValue = "invalid-value"
    case missingArgument = "missing-argument"
    case unexpectedArgument = "unexpected-argument"
  }

  /// What kind of mistake it is; stable.
  public let code: Code
  /// Names what is wrong and what to do about it, in one line.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The same command line fails the same way again.
  public var isRetriable: Bool { false }
  /// Nothing can be done without a correct command line.
  public var isFatal: Bool { true }
  public var description: String { message }
}
