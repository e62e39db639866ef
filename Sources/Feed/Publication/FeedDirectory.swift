/// The feeds of one partition, by id. Not thread-safe.
public final class FeedDirectory {
  /// The feeds by number; nil for a number that is not used. Not an array, of which every look would count a reference.
  @exclusivity(unchecked) private var entries: UnsafeMutablePointer<Entry?>
  @exclusivity(unchecked) private var capacity = 0
  /// Numbers that were ever used.
  @exclusivity(unchecked) private var used = 0
  @exclusivity(unchecked) private var unusedNumbers: [UInt32] = []
  @exclusivity(unchecked) private var index = HashIndex()
  private let hashKey = ByteHash.key
  private let blocks: BlockPool?
  /// Feeds that exist: not those that a record only named, or of which the deletion is not published yet.
  ///
  /// Not just a stored property: other modules would look for conflicting accesses, which there are none of.
  public var existingCount: Int { existing }
  @exclusivity(unchecked) private var existing = 0
  /// What these count as for `limits.maxStateBytes`.
  @exclusivity(unchecked) public private(set) var stateBytes = 0
  /// Their sections and items.
  @exclusivity(unchecked) public private(set) var sectionCount = 0
  @exclusivity(unchecked) public private(set) var itemCount = 0

  private struct Entry {
    /// The feed's own; here, so that others need not be looked at.
    let id: ByteSpan
    /// Owned by the directory. To look at it counts no references.
    let feed: Unmanaged<PublishedFeed>
    /// The feed's own; here, so that no references are counted.
    let items: Unmanaged<ElementTable>
  }

  /// - Parameter blocks: memory for the feeds' data; the feeds are then used only where it is, and as long as it lives.
  public init(blocks: BlockPool? = nil) {
    self.blocks = blocks
    entries = .allocate(capacity: 0)
  }

  deinit {
    for number in 0..<used { entries[number]?.feed.release() }
    entries.deallocate()
  }

  /// How many feeds there are.
  public var count: Int { index.count }

  /// How far each feed stands from where its hash puts it; for tests.
  var distances: [Int] { index.distances }

  /// The feeds, in no order.
  public var feeds: some Sequence<PublishedFeed> {
    (0..<used).lazy.compactMap { [entries] in entries[$0]?.feed.takeUnretainedValue() }
  }

  /// The feed of that id, if there is one. O(1).
  public func feed(_ id: ByteSpan) -> PublishedFeed? {
    reference(to: id)?.takeUnretainedValue()
  }

  /// The items of the feed of that id, if there is one; valid until the feed is removed.
  func items(of id: ByteSpan) -> Unmanaged<ElementTable>? {
    guard let number = number(of: id, hashKey.hash(id)) else { return nil }
    return entries[Int(number)].unsafelyUnwrapped.items
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
    let entry = Entry(id: feed.id, feed: .passRetained(feed), items: .passUnretained(feed.state.items))
    if let unused = unusedNumbers.popLast() {
      entries[Int(unused)] = entry
      index.insert(feed.id, hash, unused, textOf: id)
    } else {
      if used == capacity { reserve(max(1, capacity * 2)) }
      (entries + used).initialize(to: entry)
      used += 1
      index.insert(feed.id, hash, UInt32(used - 1), textOf: id)
    }
    add(count(of: feed), 1)
  }

  // MARK: Records

  /// Whom a record is for.
  public struct Addressee {
    /// Valid until it is removed.
    public let feed: Unmanaged<PublishedFeed>
    /// Whether the feed was not listed for the next flush yet.
    public let isNewlyListed: Bool
  }

  @inline(__always)
  fileprivate func apply(
    _ decoder: RecordDecoder,
    to feed: PublishedFeed,
    at position: RecordPosition,
    processBytes: Int,
    noOp: (NoOpReason) -> Void
  ) throws(Rejection) -> Int {
    let before = count(of: feed)
    let usage = StateUsage(feeds: existing, bytes: processBytes)
    // What throws has changed nothing.
    try feed.apply(decoder, at: position, usage: usage, noOp: noOp)
    let after = count(of: feed)
    if after == before { return 0 }
    add(before, -1)
    add(after, 1)
    return after.bytes - before.bytes
  }

  /// What a feed of this directory counts as, to be compared with what it counts as after a change.
  public struct Count: Equatable {
    let exists: Bool
    let bytes: Int
    let sections: Int
    let items: Int
  }

  /// What a feed counts as before a change.
  @inline(__always)
  public func count(of feed: PublishedFeed) -> Count {
    Count(
      exists: feed.exists,
      bytes: feed.stateBytes,
      sections: feed.sectionCount,
      items: feed.itemCount
    )
  }

  /// Notes that a feed of this directory has changed.
  ///
  /// - Parameter before: what it counted as.
  /// - Returns: by how many bytes the state has grown; negative if it has shrunk.
  public func noteChange(of feed: PublishedFeed, since before: Count) -> Int {
    let now = count(of: feed)
    add(before, -1)
    add(now, 1)
    return now.bytes - before.bytes
  }

  /// Removes a feed that there is.
  public func remove(_ feed: PublishedFeed) {
    let hash = ByteHash.of(feed.id)
    guard let number = number(of: feed.id, hash), let owned = entries[Int(number)]?.feed,
      owned.toOpaque() == Unmanaged.passUnretained(feed).toOpaque()
    else {
      preconditionFailure("there is no feed \(feed.id.quotedForMessage())")
    }
    add(count(of: feed), -1)
    index.remove(feed.id, hash, number)
    entries[Int(number)] = nil
    defer { owned.release() }
    unusedNumbers.append(number)
    if index.count == 0 {
      // Memory is given back.
      used = 0
      reserve(0)
      unusedNumbers = []
      index.removeAll()
    }
  }

  /// Checks what is kept incrementally; for tests.
  public func checkInvariants() {
    var (existing, bytes, sections, items) = (0, 0, 0, 0)
    for feed in feeds {
      existing += feed.exists ? 1 : 0
      bytes += feed.stateBytes
      sections += feed.sectionCount
      items += feed.itemCount
    }
    precondition(existingCount == existing, "feeds are not counted right")
    precondition(stateBytes == bytes, "state is not counted right")
    precondition(
      sectionCount == sections && itemCount == items,
      "sections and items are not counted right"
    )
  }

  @inline(__always)
  private func add(_ count: Count, _ sign: Int) {
    existing += count.exists ? sign : 0
    stateBytes += sign * count.bytes
    sectionCount += sign * count.sections
    itemCount += sign * count.items
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

  private func reserve(_ capacity: Int) {
    let other = UnsafeMutablePointer<Entry?>.allocate(capacity: capacity)
    other.moveInitialize(from: entries, count: used)
    entries.deallocate()
    entries = other
    self.capacity = capacity
  }

  private func id(_ number: UInt32) -> ByteSpan { entries[Int(number)]?.id ?? .empty }
}

/// Records are taken by a directory whose references nobody counts, as that would be done for each of them.
extension Unmanaged<FeedDirectory> {
  /// Decodes a record, and lists its feed for the next flush; a feed that there is none of is made.
  ///
  /// - Parameter decoder: holds the record's events afterwards.
  /// - Returns: nil for a record that was taken before.
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

  /// Applies a decoded record to its feed, all of it or nothing.
  ///
  /// - Parameters:
  ///   - processBytes: what the process keeps, for the limit of that.
  ///   - noOp: called with the reason for each event that does nothing.
  /// - Returns: by how many bytes the state has grown; negative if it has shrunk.
  /// - Throws: a `Rejection`; the feed is then as it was before.
  public func apply(
    _ decoder: RecordDecoder,
    to feed: Unmanaged<PublishedFeed>,
    at position: RecordPosition,
    processBytes: Int,
    noOp: (NoOpReason) -> Void
  ) throws(Rejection) -> Int {
    var growth = 0
    let rejection: Rejection? = _withUnsafeGuaranteedRef { directory in
      feed._withUnsafeGuaranteedRef { feed in
        do throws(Rejection) {
          growth = try directory.apply(
            decoder,
            to: feed,
            at: position,
            processBytes: processBytes,
            noOp: noOp
          )
          return nil
        } catch {
          return error
        }
      }
    }
    if let rejection { throw rejection }
    return growth
  }
}
