/// What made a keyframe due.
public struct DueKeyframe: Sendable, Equatable {
  /// Delta records since the reload before, and the bytes of their values.
  public var deltas: Int
  public var deltaBytes: Int
  /// Bytes of the values of the reload before.
  public var lastReloadBytes: Int
  /// Bytes of the keyframe as one value.
  public var keyframeBytes: Int
  /// The settings that they were held against.
  public var policy: KeyframePolicy

  public init(deltas: Int, deltaBytes: Int, lastReloadBytes: Int, keyframeBytes: Int, policy: KeyframePolicy)
  {
    self.deltas = deltas
    self.deltaBytes = deltaBytes
    self.lastReloadBytes = lastReloadBytes
    self.keyframeBytes = keyframeBytes
    self.policy = policy
  }
}
