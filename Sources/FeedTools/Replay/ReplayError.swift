/// Why a replay stopped.
public struct ReplayError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What went wrong, as a stable word.
  public enum Code: String, Sendable {
    case cannotRead = "cannot-read"
    case cannotWrite = "cannot-write"
    case invalidLine = "invalid-line"
  }

  public let code: Code
  /// Names the file, the line where there is one, and the remedy.
  public let message: String
  /// What is wrong with a line after which reading may go on, without its place.
  let problem: String?

  init(_ code: Code, _ message: String, problem: String? = nil) {
    self.code = code
    self.message = message
    self.problem = problem
  }

  /// A file that stays as it is fails again.
  public var isRetriable: Bool { false }
  public var isFatal: Bool { true }
  public var description: String { message }
}
