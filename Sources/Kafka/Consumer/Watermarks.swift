/// The first and the end offset of a partition.
public struct Watermarks: Sendable, Hashable {
  /// The offset of the oldest record.
  public var low: Int64
  /// The offset of the next record: the high watermark for a `readUncommitted` consumer, the last stable offset for a
  /// `readCommitted` one.
  public var high: Int64

  public init(low: Int64, high: Int64) {
    self.low = low
    self.high = high
  }
}
