/// Bounds on what one record, one identifier and one feed may hold.
///
/// A record that would pass one of them is rejected with `limit-exceeded`.
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

  public init() {}
}
