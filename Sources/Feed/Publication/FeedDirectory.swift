/// The feeds of one partition, by id. Not thread-safe.
public final class FeedDirectory {
  /// The feeds by number; nil for a number that is not used.
  @exclusivity(unchecked) private var entries: ContiguousArray<Entry?> = []
  @exclusivity(unchecked) private var unusedNumbers: [UInt32] = []
  @exclusivity(unchecked) private var index = HashIndex()
  private let blocks: BlockPool?

  private struct Entry {
    /// The feed's own; here, so that others need not be looked at.
    let id: ByteSpan
    let feed: PublishedFeed
  }

  /// - Parameter blocks: memory for the feeds' data; the feeds are then used only where it is, and as long as it lives.
  public init(blocks: BlockPool? = nil) {
    self.blocks = blocks
  }

  /// How many feeds there are.
  public var count: Int { index.count }

  /// The feeds, in no order.
  public var feeds: some Sequence<PublishedFeed> { entries.lazy.compactMap { $0?.feed } }

  /// The feed of that id, if there is one. O(1).
  public func feed(_ id: ByteSpan) -> PublishedFeed? {
    number(of: id, ByteHash.of(id)).flatMap { entries[Int($0)]?.feed }
  }

  /// Makes a feed of an id that there is none of.
  public func makeFeed(_ id: ByteSpan) -> PublishedFeed {
    let feed = PublishedFeed(id: id)
    insert(feed)
    return feed
  }

  /// Adds a feed of an id that there is none of.
  public func insert(_ feed: PublishedFeed) {
    let hash = ByteHash.of(feed.id)
    feed.state.blocks = blocks?.handle
    precondition(number(of: feed.id, hash) == nil, "there is a feed \(feed.id.quotedForMessage()) already")
    let entry = Entry(id: feed.id, feed: feed)
    if let unused = unusedNumbers.popLast() {
      entries[Int(unused)] = entry
      index.insert(hash, unused)
    } else {
      entries.append(entry)
      index.insert(hash, UInt32(entries.count - 1))
    }
  }

  /// Removes a feed that there is.
  public func remove(_ feed: PublishedFeed) {
    let hash = ByteHash.of(feed.id)
    guard let number = number(of: feed.id, hash), entries[Int(number)]?.feed === feed else {
      preconditionFailure("there is no feed \(feed.id.quotedForMessage())")
    }
    index.remove(hash, number)
    entries[Int(number)] = nil
    unusedNumbers.append(number)
    if index.count == 0 {
      // Memory is given back.
      entries = []
      unusedNumbers = []
      index.removeAll()
    }
  }

  private func number(of id: ByteSpan, _ hash: UInt32) -> UInt32? {
    index.find(hash) { entries[Int($0)]?.id.hasSameBytes(as: id) ?? false }
  }
}
