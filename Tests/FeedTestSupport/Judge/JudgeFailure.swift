/// A difference that the judge found: what was expected and what was found.
public struct JudgeFailure: Error, Sendable, Equatable, CustomStringConvertible {
  public let description: String

  public init(_ description: String) {
    self.description = description
  }
}
