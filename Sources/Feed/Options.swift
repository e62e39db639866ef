/// Limits for one record, one identifier, one feed, a partition and a process.
///
/// A record that would exceed one of them is rejected with `limit-exceeded`. The limits on stored state (items,
/// sections, feeds, bytes) reject a record only if it increases the value.
public struct Limits: Sendable, Equatable {
  /// Longest identifier, anchor, kind or record key, in UTF-8 bytes after unescaping.
  public var maxIdBytes = 255
  /// Longest `data`, in bytes with insignificant white space removed; also after a patch.
  public var maxDataBytes = 524_288
  /// Most items in one feed.
  public var maxItems = 1_000_000
  /// Most sections in one feed.
  public var maxSections = 10_000
  /// Most events in one record.
  public var maxEvents = 10_000
  /// Deepest nesting of a record's value; a scalar has depth 0.
  public var maxDepth = 128
  /// Longest record, key and value together, in bytes.
  public var maxRecordBytes = 104_857_600
  /// Most feeds in one partition.
  public var maxFeeds = 1_000_000
  /// Most bytes of state in one process, by the formula of ``StateSize``.
  public var maxStateBytes = 17_179_869_184

  public init() {}
}

/// When a feed's state is written again, so that the topic stays small and new readers apply few deltas.
public struct KeyframePolicy: Sendable, Equatable {
  /// A keyframe follows when the delta records since the last reload are at least this many, and the keyframe
  /// has at most ``maxBytesRatio`` times their bytes; at most ``greatestMaxDeltas``.
  public var maxDeltas = 1000
  /// A keyframe also follows when those records have more than this many times the bytes of the last reload.
  public var maxBytesRatio = 2.0

  /// Half the numbers that keys may have: after that many deltas, a difference of as many parts fits.
  public static let greatestMaxDeltas = RecordKey.greatestNumber / 2

  public init() {}

  /// Calls one of the closures with each property and its name in the header `feedstore.plan`, in the header's order.
  package mutating func forEachFigure(
    count: (StaticString, inout Int) -> Void,
    ratio: (StaticString, inout Double) -> Void
  ) {
    count("maxDeltas", &maxDeltas)
    ratio("maxBytesRatio", &maxBytesRatio)
  }

  /// Whether a keyframe is due because the delta records are long.
  ///
  /// - Parameters:
  ///   - deltaBytes: bytes of the delta records' values since the last reload.
  ///   - lastReloadBytes: bytes of the reload's values.
  func isDue(deltaBytes: Int, lastReloadBytes: Int) -> Bool {
    Double(deltaBytes) > maxBytesRatio * Double(lastReloadBytes)
  }

  /// Whether a keyframe is due because there are many delta records. If the feed is much larger than they
  /// are, they must grow first: keyframes never take much more than the deltas.
  ///
  /// - Parameters:
  ///   - deltas: delta records since the last reload, and `deltaBytes`: the bytes of their values.
  ///   - keyframeBytes: bytes of the keyframe as one value.
  func isDue(deltas: Int, deltaBytes: Int, keyframeBytes: Int) -> Bool {
    deltas >= maxDeltas && Double(keyframeBytes) <= maxBytesRatio * Double(deltaBytes)
  }
}

/// How changesets are written.
public struct OutputOptions: Sendable, Equatable {
  /// Longest value of one output record, in bytes; a longer changeset is split into parts.
  public var maxMessageBytes = 900_000
  /// The `ce_source` header of every changeset.
  public var source = "/feedstore"

  public init() {}
}
