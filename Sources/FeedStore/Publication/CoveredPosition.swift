/// How far an input partition is covered by a publication.
public struct CoveredPosition: Sendable, Equatable {
  /// The topic's name as UTF-8.
  public var topic: [UInt8]
  public var partition: Int32
  /// The offset to commit: one more than that of the newest covered record, or the offset after transaction markers and
  /// gaps that follow it.
  public var nextOffset: Int64
}
