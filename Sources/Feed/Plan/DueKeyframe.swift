/// The figures that made a keyframe due.
public struct DueKeyframe: Sendable, Equatable {
  /// The number of delta records since the previous reload, and the bytes of their values.
  public var deltas: Int
  public var deltaBytes: Int
  /// The bytes of the previous reload's values.
  public var lastReloadBytes: Int
  /// Bytes of the keyframe as one value.
  public var keyframeBytes: Int
  /// The settings that the figures were compared with.
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
