/// A line of a replay file that is not a record's envelope.
public struct ReplayLineError: Error, Sendable, Equatable {
  /// What is wrong, naming the field.
  public let problem: String

  init(_ problem: String) { self.problem = problem }
}
