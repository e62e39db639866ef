/// When a feed's state is written out again, so that the compacted topic stays small and a
/// late joiner has few deltas to apply.
public struct KeyframePolicy: Sendable, Equatable {
  /// A keyframe follows when the delta records since the last reload number at least this; at most
  /// ``greatestMaxDeltas``.
  public var maxDeltas = 1000
  /// A keyframe follows when those records' bytes are more than this many times the last reload's.
  public var maxBytesRatio = 2.0

  /// Half of the numbers that keys may have, so that a difference of as many parts fits after the others.
  public static let greatestMaxDeltas = RecordKey.greatestNumber / 2

  public init() {}
}
