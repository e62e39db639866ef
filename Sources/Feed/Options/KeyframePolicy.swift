/// When a feed's state is written again, so that the compacted topic stays small and late joiners have few deltas to
/// apply.
public struct KeyframePolicy: Sendable, Equatable {
  /// A keyframe follows when the delta records since the last reload number at least this, and the keyframe has at
  /// most ``maxBytesRatio`` times their bytes; at most ``greatestMaxDeltas``.
  public var maxDeltas = 1000
  /// A keyframe also follows when those records have more than this many times the bytes of the last reload.
  public var maxBytesRatio = 2.0

  /// Half of the numbers that keys may have, so that a difference of as many parts fits after the others.
  public static let greatestMaxDeltas = RecordKey.greatestNumber / 2

  public init() {}

  /// Whether a keyframe is due as the delta records have become long.
  ///
  /// - Parameters:
  ///   - deltaBytes: bytes of the delta records' values since the last reload.
  ///   - lastReloadBytes: bytes of that reload's values.
  func isDue(deltaBytes: Int, lastReloadBytes: Int) -> Bool {
    Double(deltaBytes) > maxBytesRatio * Double(lastReloadBytes)
  }

  /// Whether a keyframe is due as the delta records have become many. Where the feed is much larger than
  /// they are, they first have to become longer: so keyframes never take much more than the deltas do.
  ///
  /// - Parameters:
  ///   - deltas: delta records since the last reload, and `deltaBytes` those of their values.
  ///   - keyframeBytes: bytes of the keyframe as one value.
  func isDue(deltas: Int, deltaBytes: Int, keyframeBytes: Int) -> Bool {
    deltas >= maxDeltas && Double(keyframeBytes) <= maxBytesRatio * Double(deltaBytes)
  }
}
