/// The feeds of one partition, by id. Not thread-safe.
public final class FeedDirectory {
  /// The feeds by number; nil if unused. Not an array, which would count a reference at each access.
  @exclusivity(unchecked) private var entries: UnsafeMutablePointer<Entry?>
  @exclusivity(unchecked) private var capacity = 0
  /// The number of entries that were ever used.
  @exclusivity(unchecked) private var used = 0
  @exclusivity(unchecked) private var unusedNumbers: [UInt32] = []
  @exclusivity(unchecked) var index = HashIndex()
  private let hashKey = ByteHash.key
  private let blocks: BlockPool?
  /// Which items show a content; nil if items have no references.
  private let references: ReferenceIndex?
  /// The number of feeds, except those that a record only named, or with an unpublished deletion.
  ///
  /// Not a stored property: other modules would check for conflicting accesses, which cannot occur.
  public var existingCount: Int { existing }
  @exclusivity(unchecked) private var existing = 0
  /// The feeds' bytes for `limits.maxStateBytes`.
  @exclusivity(unchecked) public private(set) var stateBytes = 0
  /// Their sections and items.
  @exclusivity(unchecked) public private(set) var sectionCount = 0
  @exclusivity(unchecked) public private(set) var itemCount = 0
  /// Sections with an order, a bound or a time to live.
  @exclusivity(unchecked) public private(set) var settingsCount = 0
  /// Whether items end, or sections have a time to live.
  public var hasEnds: Bool { ends.count > 0 }
  let ends = ItemEnds()
  /// False if the items neither end nor show changed contents yet, because their input is not read.
  @exclusivity(unchecked) public var isServed = true

  private struct Entry {
    /// The feed's id; a copy of its address, so that a lookup need not read the feed.
    let id: ByteSpan
    /// Owned by the directory. Access counts no references.
    let feed: Unmanaged<PublishedFeed>
    /// The feed's items; here, so that access counts no references.
    let items: Unmanaged<ElementTable>
  }

  /// - Parameters:
  ///   - blocks: memory for the feeds' data. The feeds may be used only on its thread, in its lifetime.
  ///   - contents: the contents that items show; nil if items have no references.
  public init(blocks: BlockPool? = nil, contents: ContentTable? = nil) {
    self.blocks = blocks
    references = contents.map { ReferenceIndex($0) }
    entries = .allocate(capacity: 0)
  }

  deinit {
    for number in 0..<used { entries[number]?.feed.release() }
    entries.deallocate()
  }

  /// The number of feeds.
  public var count: Int { index.count }

  /// The feeds, in no particular order.
  public var feeds: some Sequence<PublishedFeed> {
    (0..<used).lazy.compactMap { [entries] in entries[$0]?.feed.takeUnretainedValue() }
  }

  /// The feed with an id. O(1).
  public func feed(_ id: ByteSpan) -> PublishedFeed? {
    reference(to: id)?.takeUnretainedValue()
  }

  /// The items of the feed with an id; valid until the feed is removed.
  func items(of id: ByteSpan) -> Unmanaged<ElementTable>? {
    guard let number = number(of: id, hashKey.hash(id)) else { return nil }
    return entries[Int(number)].unsafelyUnwrapped.items
  }

  /// Creates the feed of a new id.
  public func makeFeed(_ id: ByteSpan) -> PublishedFeed {
    let feed = PublishedFeed(id: id)
    insert(feed)
    return feed
  }

  /// Adds a feed with a new id.
  public func insert(_ feed: PublishedFeed) {
    let hash = ByteHash.of(feed.id)
    feed.state.blocks = blocks?.handle
    precondition(number(of: feed.id, hash) == nil, "there is a feed \(feed.id.quotedForMessage()) already")
    let entry = Entry(id: feed.id, feed: .passRetained(feed), items: .passUnretained(feed.state.items))
    let number = unusedNumbers.popLast() ?? UInt32(used)
    references.map { feed.state.join($0, as: number) }
    if number == used {
      if used == capacity { reserve(max(1, capacity * 2)) }
      (entries + used).initialize(to: entry)
      used += 1
    } else {
      entries[Int(number)] = entry
    }
    index.insert(feed.id, hash, number, textOf: id)
    feed.state.scheduleEnds(ends, number)
    add(feed.count)
  }

  /// Shows a changed content in the items that refer to it, the last ones first: the places of references that are added
  /// or removed between two calls are never before those that are left.
  ///
  /// - Parameters:
  ///   - content: its number.
  ///   - time: the timestamp of its record.
  ///   - left: the number of references that are left, at most; reduced.
  ///   - most: the number of references to visit, at most; reduced.
  ///   - list: called with each feed that was not listed for the next flush yet.
  /// - Returns: the number of changed items.
  public func show(
    _ content: UInt32,
    at time: Int64,
    left: inout Int,
    most: inout Int,
    list: (PublishedFeed) -> Void
  ) -> Int {
    guard let references else { return 0 }
    var changed = 0
    while most > 0 {
      left = min(left, references.count(content))
      if left == 0 { break }
      left -= 1
      most -= 1
      let block = references[content, left].references
      guard let feed = entries[Int(block.feed)]?.feed.takeUnretainedValue() else { continue }
      let before = feed.count
      guard feed.showContents(block.item, at: time) else { continue }
      changed += 1
      add(feed.count - before)
      if feed.listForFlush() { list(feed) }
    }
    return changed
  }

  /// Shows the present contents in all items of a feed.
  ///
  /// - Parameter list: called if the feed changes, and was not listed for the next flush yet.
  /// - Returns: the number of changed items, and of items with references.
  public func showContents(
    in feed: PublishedFeed,
    at time: Int64,
    list: (PublishedFeed) -> Void
  ) -> (changed: Int, visited: Int) {
    let before = feed.count
    var (changed, visited) = (0, 0)
    feed.state.forEachReferring { item, _ in
      visited += 1
      if feed.showContents(item, at: time) { changed += 1 }
    }
    add(feed.count - before)
    if changed > 0, feed.listForFlush() { list(feed) }
    return (changed, visited)
  }

  // MARK: Records

  /// The feed of a record.
  public struct Addressee {
    /// Valid until the feed is removed.
    public let feed: Unmanaged<PublishedFeed>
    /// Whether the feed was not listed for the next flush yet.
    public let isNewlyListed: Bool
  }

  /// The counts of feeds, or the growth of these counts.
  public struct Count: Equatable {
    /// Feeds that exist.
    public var feeds = 0
    /// Bytes of state.
    public var bytes = 0
    var sections = 0
    var items = 0
    /// Sections with an order, a bound or a time to live.
    var settings = 0
    /// Items that a record added and that their sections' limits removed.
    public var cut = 0
    /// Events of a record without effect.
    public var noOps = 0

    @inline(__always)
    public static func - (now: Count, before: Count) -> Count {
      Count(
        feeds: now.feeds &- before.feeds,
        bytes: now.bytes &- before.bytes,
        sections: now.sections &- before.sections,
        items: now.items &- before.items,
        settings: now.settings &- before.settings
      )
    }
  }

  /// Counts what a feed of this directory has grown by.
  public func add(_ growth: Count) {
    existing += growth.feeds
    stateBytes += growth.bytes
    sectionCount += growth.sections
    itemCount += growth.items
    settingsCount += growth.settings
  }

  // MARK: Ends

  /// A time before which no item ends.
  public var nextEnd: Int64 { isServed ? ends.heap.first?.time ?? .max : .max }

  /// Deletes items whose end has come, the earliest first.
  ///
  /// - Parameters:
  ///   - most: the most entries to look at.
  ///   - note: called with each feed that was not listed for the next flush yet.
  /// - Returns: the number of items, and the growth of the state.
  public func endItems(
    by now: Int64,
    most: inout Int,
    _ note: (PublishedFeed) -> Void
  ) -> (items: Int, bytes: Int) {
    var total = (items: 0, bytes: 0)
    while most > 0, nextEnd <= now, let entry = ends.heap.first {
      ends.removeFirst()
      most -= 1
      guard let feed = feed(of: entry) else { continue }
      let before = feed.count
      feed.end(entry.item, at: entry.time)
      let growth = feed.count - before
      add(growth)
      total.bytes += growth.bytes
      total.items += 1
      if feed.listForFlush() { note(feed) }
    }
    return total
  }

  /// Frees the memory of ends that do not count any more. No record may be in progress.
  public func trimEnds() { ends.trim { feed(of: $0) != nil } }

  /// The feed of an end; nil if it does not count any more.
  private func feed(of end: ItemEnds.Entry) -> PublishedFeed? {
    guard end.feed < used, let feed = entries[Int(end.feed)]?.feed.takeUnretainedValue(),
      feed.state.ends(end.item, at: end.time)
    else { return nil }
    return feed
  }

  /// Removes a feed.
  public func remove(_ feed: PublishedFeed) {
    let hash = ByteHash.of(feed.id)
    guard let number = number(of: feed.id, hash), let owned = entries[Int(number)]?.feed,
      owned.toOpaque() == Unmanaged.passUnretained(feed).toOpaque()
    else {
      preconditionFailure("there is no feed \(feed.id.quotedForMessage())")
    }
    add(Count() - feed.count)
    ends.count -= Int(feed.state.totals.endCount)
    index.remove(feed.id, hash, number)
    entries[Int(number)] = nil
    defer { owned.release() }
    unusedNumbers.append(number)
    if index.count == 0 {
      // Releases memory.
      used = 0
      reserve(0)
      unusedNumbers = []
      index.removeAll()
    }
  }

  @inline(__always)
  fileprivate func reference(to id: ByteSpan) -> Unmanaged<PublishedFeed>? {
    guard let number = number(of: id, hashKey.hash(id)) else { return nil }
    return entries[Int(number)].unsafelyUnwrapped.feed
  }

  @inline(__always)
  private func number(of id: ByteSpan, _ hash: UInt32) -> UInt32? {
    let entries = entries
    return index.find(id, hash) { entries[Int($0)].unsafelyUnwrapped.id }
  }

  private func id(_ number: UInt32) -> ByteSpan { entries[Int(number)]?.id ?? .empty }

  private func reserve(_ capacity: Int) {
    let other = UnsafeMutablePointer<Entry?>.allocate(capacity: capacity)
    other.moveInitialize(from: entries, count: used)
    entries.deallocate()
    entries = other
    self.capacity = capacity
  }
}

/// Through an unmanaged reference, because a managed one would be counted for each record.
extension Unmanaged<FeedDirectory> {
  /// Decodes a record, and lists its feed for the next flush; creates the feed if it is new.
  ///
  /// - Parameter decoder: then holds the record's events.
  /// - Returns: nil if the record was applied before.
  public func decode(
    _ record: InputRecord,
    with decoder: RecordDecoder
  ) throws(Rejection) -> FeedDirectory.Addressee? {
    let known = record.key.flatMap { key in
      key.isEmpty ? nil : _withUnsafeGuaranteedRef { $0.reference(to: key) }
    }
    guard let known else {
      try decoder.decode(record, itemCount: 0, sectionCount: 0)
      guard let key = record.key else { preconditionFailure("a record without a key was decoded") }
      let feed = _withUnsafeGuaranteedRef { $0.makeFeed(key) }
      return FeedDirectory.Addressee(feed: .passUnretained(feed), isNewlyListed: feed.listForFlush())
    }
    if known._withUnsafeGuaranteedRef({ $0.hasTaken(record.position) }) { return nil }
    let (items, sections) = known._withUnsafeGuaranteedRef { ($0.itemCount, $0.sectionCount) }
    try decoder.decode(record, itemCount: items, sectionCount: sections)
    return FeedDirectory.Addressee(
      feed: known,
      isNewlyListed: known._withUnsafeGuaranteedRef { $0.listForFlush() }
    )
  }
}

/// The use of `limits.maxFeeds` and `limits.maxStateBytes` when a record arrives.
public struct StateUsage: Sendable, Equatable {
  /// Feeds that exist in the record's partition.
  public var feeds: Int
  /// Bytes of state in the process, by the formula of ``StateSize``.
  public var bytes: Int

  public init(feeds: Int = 0, bytes: Int = 0) {
    self.feeds = feeds
    self.bytes = bytes
  }
}

/// The ids that several partitions have. The feeds are separate. This is always a mistake of producers that
/// choose the partition of a key by different rules (protocol, section 10.1).
package struct SharedIDs: Sendable {
  /// The log facility of the messages of ``takeNews()``.
  package static let facility = "FEEDID"

  private var partitions: [ByteText: Set<Int32>] = [:]
  /// The ids that were not reported yet.
  private var news: [ByteText] = []

  package init() {}

  /// The number of such ids.
  package var count: Int { partitions.count }

  /// Records which partitions have an id now.
  package mutating func note(_ id: ByteText, in numbers: some Sequence<Int32>) {
    let numbers = Set(numbers)
    if numbers.count < 2 {
      partitions[id] = nil
    } else if partitions.updateValue(numbers, forKey: id) == nil {
      news.append(id)
    }
  }

  /// Records that a partition is gone.
  package mutating func remove(_ number: Int32) {
    for (id, numbers) in partitions where numbers.contains(number) {
      note(id, in: numbers.subtracting([number]))
    }
  }

  /// A message for each id that several partitions have had since the last call, sorted by the bytes of the ids: restoring
  /// finds them in the random order of a hash table.
  package mutating func takeNews() -> [String] {
    defer { news = [] }
    return news.sorted().compactMap { id in
      partitions[id].map {
        "feed \(id.quotedForMessage) is in the partitions \(Self.list($0)): \(Self.meaning)"
      }
    }
  }

  /// Numbers of partitions as text.
  package static func list(_ numbers: some Sequence<Int32>) -> String {
    numbers.sorted().map { String($0) }.joined(separator: ", ")
  }

  package static let meaning =
    "these are separate feeds with the same id, because producers choose its partition by different rules"
}
