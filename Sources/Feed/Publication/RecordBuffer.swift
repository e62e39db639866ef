/// Output records with their bytes in one buffer.
public final class RecordBuffer {
  public let bytes = ByteWriter(capacity: 64 << 10)
  @exclusivity(unchecked) public private(set) var records: [OutputRecord] = []

  /// The partition of the next records.
  public var partition: Int32 = 0

  public init() {}

  public func removeAll() {
    bytes.removeAll()
    records.removeAll(keepingCapacity: true)
  }

  /// Appends a record whose value was just written, from `valueStart` to the end of the buffer.
  func append(
    keyPrefix: StaticString,
    number: Int,
    feed: ByteSpan,
    valueStart: Int?,
    eventSuffix: String,
    epoch: [UInt8],
    revision: UInt64,
    time: Int64,
    plan: ChangesetPlan? = nil
  ) {
    let value = valueStart.map { $0..<bytes.count }
    let keyStart = bytes.count
    bytes.append(keyPrefix)
    bytes.append(decimal: number)
    bytes.append(UInt8(ascii: "/"))
    let feedStart = bytes.count
    bytes.append(feed)
    let key = keyStart..<bytes.count
    var eventID = bytes.count..<bytes.count
    if valueStart != nil {
      // <feed>@<epoch>@<revision>/<part>
      bytes.append(feed)
      bytes.append(UInt8(ascii: "@"))
      epoch.withUnsafeBytes { bytes.append(ByteSpan($0)) }
      bytes.append(UInt8(ascii: "@"))
      bytes.append(decimal: revision)
      bytes.append(UInt8(ascii: "/"))
      bytes.append(string: eventSuffix)
      eventID = key.upperBound..<bytes.count
    }
    let planStart = bytes.count
    plan?.write(to: bytes)
    records.append(
      OutputRecord(
        partition: partition,
        key: key,
        value: value,
        feed: feedStart..<key.upperBound,
        eventID: eventID,
        plan: planStart..<bytes.count,
        time: time,
        revision: revision
      )
    )
  }
}

/// One record for the changesets topic; its bytes are in its buffer.
public struct OutputRecord: Sendable, Equatable {
  /// The partition of the feed's input, and so of its changesets.
  public var partition: Int32
  /// The range of the key in the buffer.
  public var key: Range<Int>
  /// The range of the value in the buffer; nil for a Kafka null.
  public var value: Range<Int>?
  /// The range of the feed's id in the buffer.
  public var feed: Range<Int>
  /// The range of the CloudEvents id in the buffer; empty for a null, which has no headers.
  public var eventID: Range<Int>
  /// The range of the header `feedstore.plan` in the buffer; empty without one.
  public var plan: Range<Int>
  /// The changeset's time in milliseconds since 1970, also for nulls.
  public var time: Int64
  public var revision: UInt64
}
