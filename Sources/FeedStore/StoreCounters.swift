public import Feed
internal import Synchronization

/// The counters of a store since its creation.
public struct StoreCounters: Sendable, Equatable {
  public var records = 0
  public var events = 0
  /// Bytes of the records' keys and values.
  public var inputBytes = 0
  public var changesets: [ChangesetMode: Int] = [:]
  /// Published reloads by reason, keyframes included.
  public var reloads: [ReloadReason: Int] = [:]
  /// Entries of the published differences, by kind.
  public var entries = PublicationOutcome.EntryCounts()
  public var rejects: [RejectCode: Int] = [:]
  public var noOps: [NoOpReason: Int] = [:]
  /// Items that were deleted because their sections are limited.
  public var cutItems = 0
  /// Items that were deleted because they had ended.
  public var endedItems = 0
  /// Changes of contents, each counted in every store.
  public var contents = 0
  /// Items that changed because of them.
  public var shownItems = 0
  /// Feeds of a flush that changed because of them.
  public var shownFeeds = 0
  /// Records written to the changesets topic, nulls included.
  public var outputRecords = 0
  /// Bytes of the keys and values of these records.
  public var outputBytes = 0
  public var flushes = 0

  public init() {}

  /// Copies the counters of published changesets, but not of the input.
  mutating func takePublished(from other: StoreCounters) {
    changesets = other.changesets
    reloads = other.reloads
    entries = other.entries
    outputRecords = other.outputRecords
    outputBytes = other.outputBytes
    flushes = other.flushes
  }

  public var rejectedRecords: Int { rejects.values.reduce(0, +) }
  /// Published changesets, without keyframes.
  public var publishedChangesets: Int { changesets.values.reduce(0, +) }

  package mutating func add(_ other: StoreCounters) {
    records += other.records
    events += other.events
    inputBytes += other.inputBytes
    changesets.merge(other.changesets, uniquingKeysWith: +)
    reloads.merge(other.reloads, uniquingKeysWith: +)
    entries.add(other.entries)
    rejects.merge(other.rejects, uniquingKeysWith: +)
    noOps.merge(other.noOps, uniquingKeysWith: +)
    cutItems += other.cutItems
    endedItems += other.endedItems
    contents += other.contents
    shownItems += other.shownItems
    shownFeeds += other.shownFeeds
    outputRecords += other.outputRecords
    outputBytes += other.outputBytes
    flushes += other.flushes
  }
}

/// The numbers of feeds, sections, items and bytes in a store.
public struct StoreContent: Sendable, Equatable {
  public var feeds = 0
  public var sections = 0
  public var items = 0
  /// Bytes, by the formula of `StateSize`.
  public var bytes = 0
  /// Ids that exist in several of a store's partitions.
  public var sharedIDs = 0

  public init() {}

  package mutating func add(_ other: StoreContent) {
    feeds += other.feeds
    sections += other.sections
    items += other.items
    bytes += other.bytes
    sharedIDs += other.sharedIDs
  }
}

/// The current size and checksum of a feed, to compare with a replica.
public struct FeedSummary: Sendable, Equatable {
  public var partition: Int32
  public var feed: String
  /// 0 before the first changeset.
  public var revision: UInt64
  public var sectionCount: Int
  public var itemCount: Int
  public var checksum: UInt32

  init(partition: Int32, _ feed: PublishedFeed) {
    self.partition = partition
    self.feed = feed.id.text
    revision = feed.version?.revision ?? 0
    sectionCount = feed.sectionCount
    itemCount = feed.itemCount
    checksum = feed.checksum
  }

  /// Sorts by partition, then by the bytes of the feed's id.
  package static func precedes(_ first: FeedSummary, _ second: FeedSummary) -> Bool {
    first.partition != second.partition
      ? first.partition < second.partition : first.feed.utf8.lexicographicallyPrecedes(second.feed.utf8)
  }
}

/// The bytes of state in a process. All its stores share one budget, to enforce `limits.maxStateBytes`.
public final class StateBudget: Sendable {
  private let count = Atomic(0)

  public init() {}

  /// Bytes of all feeds, by the formula of `StateSize`.
  public var bytes: Int { count.load(ordering: .relaxed) }

  func add(_ bytes: Int) { count.add(bytes, ordering: .relaxed) }
}

/// One store's share of the process's budget. Releasing it returns the bytes. Not thread-safe.
final class StateShare {
  private let budget: StateBudget
  @exclusivity(unchecked) private(set) var bytes = 0

  init(_ budget: StateBudget) { self.budget = budget }

  deinit { budget.add(-bytes) }

  var processBytes: Int { budget.bytes }

  @inline(__always)
  func add(_ growth: Int) {
    if growth == 0 { return }
    bytes += growth
    budget.add(growth)
  }
}
