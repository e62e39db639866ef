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

/// When a changeset is published as a full reload instead of a difference.
public struct PlannerThresholds: Sendable, Equatable {
  /// Reload when the weight (entries other than `reconfigure`) is greater than this, if ``maxReloadRatio`` allows it.
  public var maxChanges = 5000
  /// Reload when weight divided by the larger item count is greater than this, if ``maxReloadRatio`` allows it.
  public var maxChangedFraction = 0.5
  /// A large weight is no reason for a reload of more than this many times the difference's bytes.
  public var maxReloadRatio = 3.0
  /// The fractions apply only to feeds of at least this many items, before or after.
  public var minimumItems = 50
  /// Reload when the items that changed their kind are more than this fraction of the resulting items.
  public var maxKindFraction = 0.5
  /// Reload when the difference's bytes are more than this many times the reload's.
  public var maxBytesRatio = 1.5

  public init() {}
}

/// How changesets are written.
public struct OutputOptions: Sendable, Equatable {
  /// Longest value of one output record, in bytes; a longer changeset is split into parts.
  public var maxMessageBytes = 900_000
  /// The `ce_source` header of every changeset.
  public var source = "/feedstore"

  public init() {}
}
