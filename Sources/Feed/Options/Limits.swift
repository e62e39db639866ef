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
