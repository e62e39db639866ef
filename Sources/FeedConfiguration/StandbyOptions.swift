/// Whether a daemon follows partitions that its workers do not have, so that taking one over needs only what was published last.
public struct StandbyOptions: Sendable, Equatable {
  /// Whether it does.
  public var isEnabled = false
  /// How much state these partitions may have, in bytes by the formula of `StateSize`.
  public var maxBytes = 1 << 30

  /// The defaults: off.
  public init() {}
}
