/// Why a replay stopped.
public struct ReplayError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of error; stable.
  public enum Code: String, Sendable {
    case cannotRead = "cannot-read"
    case cannotWrite = "cannot-write"
    case invalidLine = "invalid-line"
  }

  public let code: Code
  /// Names the file, the line if there is one, and the remedy.
  public let message: String
  /// What is wrong with a line after which reading can continue, without its position.
  let problem: String?

  init(_ code: Code, _ message: String, problem: String? = nil) {
    self.code = code
    self.message = message
    self.problem = problem
  }

  /// The same error with more words at the end of the message.
  func adding(_ text: String) -> ReplayError { ReplayError(code, message + text, problem: problem) }

  /// The same file fails again.
  public var isRetriable: Bool { false }
  public var isFatal: Bool { true }
  public var description: String { message }
}
