public import Feed

/// The effects of the current window's records: the feeds they changed, the rejected records, and the input positions
/// they cover.
struct WaitingRecords {
  var feeds: [(partition: Int32, feed: PublishedFeed)] = []
  private(set) var rejected: [RejectedRecord] = []
  /// The partitions of feeds that changed without a record, because items ended or contents changed.
  var withoutRecords: Set<Int32> = []
  /// The changes of contents, which a rollback undoes.
  var contents: [ContentTable.Change] = []
  /// Records that changed nothing, if they are noted.
  var unchanged: [(partition: Int32, record: TopicOffset)] = []
  /// The size of the rejected records' keys and values, in bytes.
  private(set) var rejectedBytes = 0
  /// The covered input partitions. How far the most recent of them is covered is in `recentOffset`.
  private var positions: [CoveredPosition] = []
  /// The index of the most recently covered input partition.
  private var recent = 0
  private var recentOffset: Int64 = 0
  private var recentPartition: Int32 = 0
  /// The address of the storage of its topic name; 0 if there is none. While `positions` holds that array, no other array
  /// has this address.
  private var recentTopic: UInt = 0

  /// How far the input partitions are covered.
  mutating func covered() -> [CoveredPosition] {
    noteRecentOffset()
    return positions
  }

  private mutating func noteRecentOffset() {
    if !positions.isEmpty { positions[recent].nextOffset = recentOffset }
  }

  /// Whether anything of a partition waits. O(p) for p input partitions.
  func has(partition: Int32) -> Bool {
    positions.contains { $0.partition == partition } || withoutRecords.contains(partition)
  }

  @inline(__always)
  mutating func cover(_ record: InputRecord) {
    cover(topic: record.position.topic, partition: record.partition, upTo: record.position.offset + 1)
  }

  mutating func reject(_ record: InputRecord, _ rejection: Rejection, bytes: Int) {
    rejected.append(RejectedRecord(record, rejection))
    rejectedBytes += bytes
  }

  /// Records that everything before an offset is covered.
  @inline(__always)
  mutating func cover(topic: [UInt8], partition: Int32, upTo nextOffset: Int64) {
    if recentTopic != 0, WaitingRecords.address(topic) == recentTopic, partition == recentPartition {
      recentOffset = nextOffset
    } else {
      coverOther(topic: topic, partition: partition, upTo: nextOffset)
    }
  }

  @inline(never)
  private mutating func coverOther(topic: [UInt8], partition: Int32, upTo nextOffset: Int64) {
    noteRecentOffset()
    let known = positions.firstIndex { $0.partition == partition && TopicOffset.isSame($0.topic, topic) }
    recent = known ?? positions.count
    if known == nil {
      positions.append(CoveredPosition(topic: topic, partition: partition, nextOffset: nextOffset))
    }
    recentOffset = nextOffset
    recentPartition = partition
    recentTopic = WaitingRecords.address(positions[recent].topic)
  }

  /// Whether two arrays share their storage. The pointers are compared, not read.
  @inline(__always)
  private static func address(_ topic: [UInt8]) -> UInt {
    topic.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
  }

  /// Sorts by partition, then by the bytes of the feed's id.
  mutating func sortFeeds() {
    feeds.sort {
      $0.partition != $1.partition ? $0.partition < $1.partition : $0.feed.id.precedes($1.feed.id)
    }
  }

  /// Moves feeds to the end whose changesets must be published in the same transaction as the offsets.
  ///
  /// If that transaction fails, their records are read again. If an earlier transaction had published them, a deleted
  /// feed, which has no `through`, would be created and deleted again, records from before an epoch would be applied to it,
  /// and the feed's `through` would skip a rejected record.
  ///
  /// - Returns: the number of other feeds.
  mutating func moveDependentFeedsLast() -> Int {
    let rejectedKeys = Set(rejected.compactMap(\.key))
    func isDependent(_ feed: PublishedFeed) -> Bool {
      feed.needsOffsets || (!rejectedKeys.isEmpty && rejectedKeys.contains(Array(feed.id.buffer)))
    }
    let dependent = feeds.filter { isDependent($0.feed) }
    feeds.removeAll { isDependent($0.feed) }
    defer { feeds += dependent }
    return feeds.count
  }

  /// An upper bound on the bytes of the feeds' changesets, without keyframes. A cheap estimate.
  func mostPublishedBytes(inputBytes: Int) -> Int {
    feeds.reduce(2 * inputBytes) { $0 + $1.feed.publishedBytes }
  }

  mutating func removeAll() {
    feeds.removeAll(keepingCapacity: feeds.capacity < 1 << 16)
    withoutRecords.removeAll()
    rejected.removeAll()
    unchanged.removeAll()
    contents.removeAll()
    rejectedBytes = 0
    positions.removeAll(keepingCapacity: true)
    recent = 0
    recentTopic = 0
  }
}

/// How far an input partition is covered by a publication.
public struct CoveredPosition: Sendable, Equatable {
  /// The topic's name as UTF-8.
  public var topic: [UInt8]
  public var partition: Int32
  /// The offset to commit: the one after the newest covered record, or after the transaction markers and gaps that
  /// follow it.
  public var nextOffset: Int64
}

/// A copy of a record that could not be applied, with the reason.
public struct RejectedRecord: Sendable, Equatable {
  public var rejection: Rejection
  /// The source topic's name as UTF-8.
  public var topic: [UInt8]
  public var partition: Int32
  public var offset: Int64
  /// The source record's timestamp, in milliseconds since 1970.
  public var timestamp: Int64
  /// The time of rejection: by the daemon's clock, or in a replay the record's timestamp.
  public var time: Int64
  public var key: [UInt8]?
  public var value: [UInt8]?

  package init(_ record: InputRecord, _ rejection: Rejection) {
    self.rejection = rejection
    topic = record.position.topic
    partition = record.partition
    offset = record.position.offset
    timestamp = record.position.timestamp
    time = TimestampFormat.nearest(record.position.taken)
    key = record.key.map { Array($0.buffer) }
    value = record.valueBytes.map { Array($0.buffer) }
  }
}
