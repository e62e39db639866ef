/// A property that does not hold for an input.
public struct FuzzFailure: Error, CustomStringConvertible {
  public let description: String

  init(_ description: String) { self.description = description }
}

/// Throws a failure unless the condition holds.
func expect(_ condition: Bool, _ property: @autoclosure () -> String) throws(FuzzFailure) {
  guard condition else { throw FuzzFailure(property()) }
}
