/// Content updates of random items, in records with values of a fixed size.
package struct SampleUpdates {
  private let feedCount: Int
  private let itemsPerFeed: Int
  private let valueBytes: Int
  private var random = RandomNumbers(seed: 11)

  package init(feedCount: Int, itemsPerFeed: Int, valueBytes: Int) {
    self.feedCount = feedCount
    self.itemsPerFeed = itemsPerFeed
    self.valueBytes = valueBytes
  }

  package mutating func next() -> (feed: String, text: String) {
    let feed = random.below(feedCount)
    return update(feed: feed, item: random.below(itemsPerFeed))
  }

  /// An update of a given item.
  package mutating func update(feed: Int, item: Int) -> (feed: String, text: String) {
    let start =
      #"{"op":"item.upsert","item":"\#(SampleData.id(item))","section":"\#(SampleData.section)","#
      + #""kind":"story","data":"#
    let data = SampleData.object(random.next(), count: valueBytes - start.utf8.count - 1)
    return ("feed-\(feed)", start + data + "}")
  }
}
