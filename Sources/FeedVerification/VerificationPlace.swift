/// Where a record stands, in the caller's numbers: they are handed back with what is found there.
public struct VerificationPlace: Sendable, Equatable {
  /// Which file, or which partition.
  public var source: Int
  /// Its line, or its offset.
  public var position: Int64

  public init(source: Int, position: Int64) {
    self.source = source
    self.position = position
  }
}
