import Feed

/// What the records of the current window have left: the feeds they touched, those that were
/// rejected, and how far the input is covered.
struct WaitingRecords {
  var feeds: [(partition: Int32, feed: PublishedFeed)] = []
  var rejected: [RejectedRecord] = []
  private(set) var covered: [CoveredPosition] = []
  private var recent = 0

  mutating func cover(_ record: InputRecord) {
    let next = record.position.offset + 1
    if recent < covered.count, isCovered(recent, by: record) {
      covered[recent].nextOffset = next
      return
    }
    if let known = covered.indices.first(where: { isCovered($0, by: record) }) {
      recent = known
      covered[known].nextOffset = next
    } else {
      recent = covered.count
      covered.append(
        CoveredPosition(topic: record.position.topic, partition: record.partition, nextOffset: next)
      )
    }
  }

  private func isCovered(_ index: Int, by record: InputRecord) -> Bool {
    covered[index].partition == record.partition && covered[index].topic == record.position.topic
  }

  /// By partition, then by the bytes of the feed's id.
  mutating func sortFeeds() {
    feeds.sort {
      $0.partition != $1.partition ? $0.partition < $1.partition : $0.feed.id.precedes($1.feed.id)
    }
  }

  mutating func removeAll() {
    feeds.removeAll(keepingCapacity: feeds.capacity < 1 << 16)
    rejected.removeAll()
    covered.removeAll(keepingCapacity: true)
    recent = 0
  }
}
