/// One record of an input topic. Its bytes belong to its batch.
public struct InputRecord {
  public var partition: Int32
  public var position: RecordPosition
  /// Nil for a null key.
  public var key: ByteSpan?
  public var value: Value

  /// A record's value, parsed or not.
  public enum Value {
    /// A Kafka null.
    case null
    case bytes(ByteSpan)
    /// Part of a longer, validated text. The batch owns the text; its references are not counted.
    case json(Unmanaged<JSONText>, first: Int, end: Int)
  }

  public init(partition: Int32, position: RecordPosition, key: ByteSpan?, value: Value) {
    self.partition = partition
    self.position = position
    self.key = key
    self.value = value
  }

  /// The value's bytes, unchanged; nil for a null.
  public var valueBytes: ByteSpan? {
    switch value {
    case .null: nil
    case .bytes(let bytes): bytes
    case .json(let text, let first, let end):
      text._withUnsafeGuaranteedRef { $0.span(from: first, to: end) }
    }
  }

  /// Bytes of key and value.
  @inlinable
  public var byteCount: Int {
    let keyCount = key?.count ?? 0
    if case .bytes(let bytes) = value { return keyCount + bytes.count }
    return keyCount + (valueBytes?.count ?? 0)
  }
}

extension RecordDecoder {
  /// Decodes a record, parsed or not.
  ///
  /// - Parameter feed: the record's feed, if it exists: the record's lists may be as long as the feed's.
  public func decode(_ record: InputRecord, for feed: PublishedFeed? = nil) throws(Rejection) {
    try decode(record, itemCount: feed?.itemCount ?? 0, sectionCount: feed?.sectionCount ?? 0)
  }

  /// Decodes a record, parsed or not, for a feed with this many items and sections.
  @inline(__always)
  func decode(_ record: InputRecord, itemCount: Int, sectionCount: Int) throws(Rejection) {
    expect(itemCount: itemCount, sectionCount: sectionCount)
    taken = record.position.taken
    defer { if ignored.hasUnlocated { ignored.locate(record.partition, record.position) } }
    switch record.value {
    case .null: try decode(key: record.key, value: nil)
    case .bytes(let bytes): try decode(key: record.key, value: bytes)
    case .json(let text, let first, let end):
      try decode(key: record.key, valueIn: text.takeUnretainedValue(), from: first, to: end)
    }
  }
}
