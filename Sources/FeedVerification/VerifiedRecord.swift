public import Feed

/// A record of the changesets topic that is to be verified. Its bytes stay the caller's.
public struct VerifiedRecord {
  public var key: ByteSpan?
  /// Nil for a Kafka null.
  public var value: ByteSpan?
  /// Names and values by turns; nil is a null.
  public var headers: [ByteSpan?]
  /// Milliseconds since 1970; nil where a broker may have set another time.
  public var timestamp: Int64?
  public var place: VerificationPlace

  public init(
    key: ByteSpan?,
    value: ByteSpan?,
    headers: [ByteSpan?],
    timestamp: Int64?,
    place: VerificationPlace
  ) {
    self.key = key
    self.value = value
    self.headers = headers
    self.timestamp = timestamp
    self.place = place
  }
}
