/// What went wrong in a run on a cluster.
public struct BrokerFailure: Error, CustomStringConvertible {
  public let description: String

  public init(_ description: String) {
    self.description = description
  }

  /// Throws unless a condition holds; unlike `#expect` it ends the run, whose log files are then named.
  public static func check(_ condition: Bool, _ description: @autoclosure () -> String) throws(BrokerFailure)
  {
    if !condition { throw BrokerFailure(description()) }
  }
}
