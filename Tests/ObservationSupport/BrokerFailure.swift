/// A failure of a run on a cluster.
public struct BrokerFailure: Error, CustomStringConvertible {
  public let description: String

  public init(_ description: String) {
    self.description = description
  }

  /// Throws unless a condition holds. Unlike `#expect`, it ends the run, and the message then names the log files.
  public static func check(_ condition: Bool, _ description: @autoclosure () -> String) throws(BrokerFailure)
  {
    if !condition { throw BrokerFailure(description()) }
  }
}
