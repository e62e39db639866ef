/// A process: what dies together, and what stands still together.
public final class SimulatedProcess {
  public let name: String
  public private(set) var isAlive = true
  /// How long it has worked since it has last let time pass, in microseconds.
  public var busy: Int64 = 0
  /// Until when it stands still, in microseconds.
  var pauseEnd: Int64 = 0
  var tasks: [SimulatedTask] = []
  /// What random choices of its clients begin with.
  let seed: UInt64
  var clientCount = 0

  public init(_ name: String, seed: UInt64) {
    self.name = name
    self.seed = seed
  }

  /// Ends it without a word. Its tasks run once more, to release what they hold: nothing that they do then has any effect.
  public func kill() {
    isAlive = false
    for task in tasks { task.interrupt() }
  }

  /// Has it stand still until a time, in microseconds, as one does whose machine swaps or sleeps.
  public func pause(until time: Int64) { pauseEnd = max(pauseEnd, time) }
}
