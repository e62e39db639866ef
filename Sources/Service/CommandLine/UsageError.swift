/// An invalid command line. The process should print it and exit with ``ExitCode/usage``.
public struct UsageError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kinds of invalid command lines.
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

  /// The kind of error; stable.
  public let code: Code
  /// The mistake and the remedy, in one line.
  public let message: String

  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The same command line always fails the same way.
  public var isRetriable: Bool { false }
  /// Without a valid command line, nothing can be done.
  public var isFatal: Bool { true }
  public var description: String { message }
}
