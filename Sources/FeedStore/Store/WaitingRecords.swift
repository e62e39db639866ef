import Feed

/// What the records of the current window have left: the feeds they touched, those that were
/// rejected, and how far the input is covered.
struct WaitingRecords {
  var feeds: [(partition: Int32, feed: PublishedFeed)] = []
  private(set) var rejected: [RejectedRecord] = []
  /// Bytes of keys and values of those that were rejected.
  private(set) var rejectedBytes = 0
  private(set) var covered: [CoveredPosition] = []
  /// Which of them was covered last.
  private var recent = 0
  private var recentPartition: Int32 = 0
  /// The address of its topic's name, at which no other array can be as long as that one is in `covered`. 0 if there is none.
  private var recentTopic: UInt = 0

  /// Whether something of a partition waits. O(p) for p input partitions.
  func has(partition: Int32) -> Bool { covered.contains { $0.partition == partition } }

  mutating func cover(_ record: InputRecord) {
    cover(topic: record.position.topic, partition: record.partition, upTo: record.position.offset + 1)
  }

  mutating func reject(_ record: InputRecord, _ rejection: Rejection, bytes: Int) {
    rejected.append(RejectedRecord(record, rejection))
    rejectedBytes += bytes
  }

  /// Notes that everything before an offset is covered.
  mutating func cover(topic: [UInt8], partition: Int32, upTo nextOffset: Int64) {
    if recentTopic != 0, WaitingRecords.address(topic) == recentTopic, partition == recentPartition {
      covered[recent].nextOffset = nextOffset
    } else {
      coverOther(topic: topic, partition: partition, upTo: nextOffset)
    }
  }

  private mutating func coverOther(topic: [UInt8], partition: Int32, upTo nextOffset: Int64) {
    func isOf(_ index: Int) -> Bool {
      covered[index].partition == partition && TopicOffset.isSame(covered[index].topic, topic)
    }
    if let known = covered.indices.first(where: isOf) {
      recent = known
      covered[known].nextOffset = nextOffset
    } else {
      recent = covered.count
      covered.append(CoveredPosition(topic: topic, partition: partition, nextOffset: nextOffset))
    }
    recentPartition = partition
    recentTopic = WaitingRecords.address(covered[recent].topic)
  }

  /// Tells whether two arrays share their memory; nothing is read through it.
  @inline(__always)
  private static func address(_ topic: [UInt8]) -> UInt {
    topic.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
  }

  /// By partition, then by the bytes of the feed's id.
  mutating func sortFeeds() {
    feeds.sort {
      $0.partition != $1.partition ? $0.partition < $1.partition : $0.feed.id.precedes($1.feed.id)
    }
  }

  /// Puts feeds whose changesets must be published in one transaction with the offsets after all others.
  ///
  /// When their records were read again after that transaction failed, a deleted feed, which has no `through`,
  /// would be made and deleted again, and a rejected record would be passed over for its feed's `through`.
  ///
  /// - Returns: how many others there are.
  mutating func moveDependentFeedsLast() -> Int {
    let rejectedKeys = Set(rejected.compactMap(\.key))
    func isDependent(_ feed: PublishedFeed) -> Bool {
      feed.isToBeDeleted || (!rejectedKeys.isEmpty && rejectedKeys.contains(Array(feed.id.buffer)))
    }
    let dependent = feeds.filter { isDependent($0.feed) }
    feeds.removeAll { isDependent($0.feed) }
    defer { feeds += dependent }
    return feeds.count
  }

  /// More bytes than the feeds' changesets will have but for keyframes, by a cheap estimate.
  func mostPublishedBytes(inputBytes: Int) -> Int {
    feeds.reduce(2 * inputBytes) { $0 + $1.feed.publishedBytes }
  }

  mutating func removeAll() {
    feeds.removeAll(keepingCapacity: feeds.capacity < 1 << 16)
    rejected.removeAll()
    rejectedBytes = 0
    covered.removeAll(keepingCapacity: true)
    recent = 0
    recentTopic = 0
  }
}
