/// A broker: up or down, with what is on its way to it.
public final class SimulatedBroker {
  public let number: Int
  public internal(set) var isUp = true
  /// How often it has started: what was sent to an earlier start is lost.
  public internal(set) var start = 0
  var calls: [any PendingCall] = []

  init(_ number: Int) { self.number = number }
}

/// A call that is on its way, in either direction.
protocol PendingCall: AnyObject {
  func lose()
}
