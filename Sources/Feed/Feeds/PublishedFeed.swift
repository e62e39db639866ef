import Glibc

/// A feed in its published and its current version, with its position in the input.
///
/// It applies records, each as a whole or not at all. `ChangesetPublisher` publishes the changes, which are then
/// confirmed or rolled back. Not thread-safe.
public final class PublishedFeed {
  /// The feed's id as UTF-8; valid as long as the feed.
  public let id: ByteSpan
  private let idBlock: UnsafeMutablePointer<UInt8>
  let state: FeedState
  /// Whether the feed exists now; a cleared feed does, empty.
  @exclusivity(unchecked) public internal(set) var exists = false
  /// The last published version; nil before the first changeset and after a published deletion.
  @exclusivity(unchecked) public internal(set) var version: PublishedVersion?
  /// The value of `version` after the current changeset is confirmed.
  var pendingVersion: PublishedVersion?? {
    get { pending.map(\.version) }
    set { pending = newValue.map(Pending.init) }
  }
  @exclusivity(unchecked) private var pending: Pending?

  /// Allocated separately, because most feeds rarely need it.
  private final class Pending {
    let version: PublishedVersion?

    init(_ version: PublishedVersion?) { self.version = version }
  }

  /// The epoch of an unpublished feed, named after the record that created it.
  @exclusivity(unchecked) var pendingEpoch: [UInt8] = []
  /// Whether the record that is being applied created the feed.
  @exclusivity(unchecked) private var isCreated = false
  /// Whether this window took records before the one that created the epoch.
  @exclusivity(unchecked) private var hasRecordsBeforeEpoch = false
  /// Whether `feed.reload` asked for a reload.
  @exclusivity(unchecked) var isReloadRequested = false
  /// The newest of this window's applied records, by topic.
  @exclusivity(unchecked) var windowThrough: [TopicOffset] = []
  /// The newest applied records of earlier windows, by topic, that no changeset contains yet.
  @exclusivity(unchecked) private var unpublishedThrough: [TopicOffset] = []
  /// The greatest timestamp of this window's records.
  @exclusivity(unchecked) var windowTime = Int64.min
  /// Whether the feed is on the store's list for the next flush.
  @exclusivity(unchecked) private var isListedForFlush = false

  public init(id: ByteSpan) {
    idBlock = id.copied()
    self.id = ByteSpan(UnsafePointer(idBlock), id.count)
    state = FeedState()
  }

  /// A feed that continues from a replica, whose state it takes over.
  init(_ replica: Replica, version: PublishedVersion) {
    let id = Array(replica.feed.utf8)
    idBlock = id.withUnsafeBytes { ByteSpan($0).copied() }
    self.id = ByteSpan(UnsafePointer(idBlock), id.count)
    state = replica.ownState()
    exists = true
    self.version = version
  }

  deinit { free(idBlock) }

  /// Whether the feed can be removed: it has neither content nor a published version.
  public var isForgettable: Bool { !exists && version == nil }
  /// Whether the changeset must be committed together with the offsets of its records, because no `through`
  /// would prevent a second application of all of them: it is a deletion, or some records precede the epoch.
  public var needsOffsets: Bool { !exists && version != nil || hasRecordsBeforeEpoch }
  /// Bytes of the feed's values in its last reload and since.
  public var publishedBytes: Int { (version?.reloadBytes ?? 0) + (version?.deltaBytes ?? 0) }
  /// The current number of items.
  public var itemCount: Int { state.totals.itemCount }
  /// The current number of sections.
  public var sectionCount: Int { state.sectionCount }
  /// Whether a section had an order, a bound or a time to live in the last published version.
  public var hasPublishedSettings: Bool { state.publishedTotals.settingsCount > 0 }
  /// Whether an item had an end, or a section a time to live, in the last published version.
  public var hasPublishedEnds: Bool { state.publishedTotals.endCount > 0 }
  /// The feed's bytes for `limits.maxStateBytes`; 0 if it does not exist.
  @inline(__always)
  public var stateBytes: Int { exists ? StateSize.feed &+ state.measure.bytes : 0 }
  /// The feed's counts in its directory.
  @inline(__always)
  public var count: FeedDirectory.Count {
    FeedDirectory.Count(
      feeds: exists ? 1 : 0,
      bytes: stateBytes,
      sections: sectionCount,
      items: itemCount,
      settings: state.totals.settingsCount
    )
  }
  /// The checksum of the current state.
  public var checksum: UInt32 { state.totals.checksum }

  // MARK: Input

  /// Marks the feed as listed for the next flush.
  ///
  /// - Returns: false if it was listed already.
  @inline(__always)
  func listForFlush() -> Bool {
    defer { isListedForFlush = true }
    return !isListedForFlush
  }

  /// Whether a record was applied before: it is not newer than the newest applied record of its topic.
  @inline(__always)
  func hasTaken(_ position: RecordPosition) -> Bool {
    guard exists else { return false }
    if !windowThrough.isEmpty, let offset = windowThrough.offset(position.topic), position.offset <= offset {
      return true
    }
    if let offset = version?.through.offset(position.topic), position.offset <= offset { return true }
    if unpublishedThrough.isEmpty { return false }
    if let offset = unpublishedThrough.offset(position.topic), position.offset <= offset { return true }
    return false
  }

  /// Forgets the applied records of a topic whose offsets have begun again.
  public func forgetTaken(of topic: [UInt8]) {
    version?.through.removeAll { $0.topic == topic }
    unpublishedThrough.removeAll { $0.topic == topic }
  }

  /// Applies the decoder's record: all events or none.
  ///
  /// - Parameters:
  ///   - usage: the use of the limits on feeds and state.
  ///   - noOp: called with the reason for each event without effect.
  /// - Returns: the growth of the feed.
  /// - Throws: a `Rejection`; the feed is then unchanged.
  @discardableResult
  public func apply(
    _ decoder: RecordDecoder,
    at position: RecordPosition,
    usage: StateUsage = StateUsage(),
    noOp: (NoOpReason) -> Void
  ) throws(Rejection) -> FeedDirectory.Count {
    if decoder.hasConditions { try checkConditions(of: decoder) }
    let check = GrowthCheck(self, decoder, usage)
    var cut = 0
    if decoder.events.count == 1, !check.mayFail() {
      try change(0, decoder, at: position, check, noOp: noOp)
      state.deleteEnded(decoder)
      cut = state.cut()
      cover(position)
    } else {
      cut = try applyAtomically(decoder, at: position, check, noOp: noOp)
    }
    var growth = count - check.before
    growth.cut = cut
    return growth
  }

  /// Applies the events of a record that may be rejected after some of them were applied.
  ///
  /// - Returns: the number of items that the sections' limits removed.
  @inline(never)
  private func applyAtomically(
    _ decoder: RecordDecoder,
    at position: RecordPosition,
    _ check: GrowthCheck,
    noOp: (NoOpReason) -> Void
  ) throws(Rejection) -> Int {
    let before = (exists: exists, epoch: pendingEpoch, isReloadRequested: isReloadRequested)
    let endedItems = decoder.endedItems
    state.beginJournal()
    var (removed, cut) = (0, 0)
    do throws(Rejection) {
      var noOps: [NoOpReason] = []
      for number in 0..<decoder.events.count {
        let removal = state.removal(by: decoder.events.event(number))
        try change(number, decoder, at: position, check) { noOps.append($0) }
        removed += removal.sections + removal.items
      }
      state.deleteEnded(decoder)
      cut = state.cut()
      try check.check(self)
      for reason in noOps { noOp(reason) }
    } catch {
      state.undoJournal()
      decoder.endedItems = endedItems
      decoder.pastItems.removeAll()
      (exists, pendingEpoch, isReloadRequested) = before
      isCreated = false
      var rejection = error
      rejection.restoredElements = removed
      throw rejection
    }
    state.endJournal()
    cover(position)
    return cut
  }

  /// Whether an item does not show the present contents: after a restoration or a rollback. O(n) for n items if one has
  /// references.
  public var isStale: Bool {
    var isStale = false
    state.forEachReferring { item, _ in if !isStale { isStale = !state.isCurrent(item) } }
    return isStale
  }

  /// Whether items have references. O(1).
  public var hasReferences: Bool { state.referenceCount != 0 }

  /// Shows the present contents in an item, if it is in the feed.
  ///
  /// - Returns: whether it changed.
  func showContents(_ item: ElementHandle, at time: Int64) -> Bool {
    guard state.items[item].isPresent, state.showContents(item) else { return false }
    windowTime = max(windowTime, time)
    return true
  }

  /// Marks the record at a position as applied.
  @inline(__always)
  private func cover(_ position: RecordPosition) {
    if isCreated { beginLife() }
    windowThrough.raise(position.topic, to: position.offset)
    windowTime = max(windowTime, position.time)
  }

  /// Applies one of the record's events.
  private func change(
    _ number: Int,
    _ decoder: RecordDecoder,
    at position: RecordPosition,
    _ check: GrowthCheck,
    noOp: (NoOpReason) -> Void
  ) throws(Rejection) {
    let event = decoder.events.event(number)
    do throws(Rejection) {
      switch event.pointee.operation {
      case .feedClear, .feedDelete, .feedReload: guard exists else { return noOp(.unknownFeed) }
      default: try check.check(event, on: self)
      }
      if let reason = try state.apply(event, decoder) { return noOp(reason) }
    } catch {
      throw decoder.isArray ? error.inEvent(number) : error
    }
    switch event.pointee.operation {
    case .feedDelete:
      exists = false
      isReloadRequested = false
    case .feedReload: isReloadRequested = true
    case .feedReplace: comeIntoBeing(position)
    default: if !exists, state.sectionCount > 0 { comeIntoBeing(position) }
    }
  }

  @inline(never)
  private func comeIntoBeing(_ position: RecordPosition) {
    guard !exists else { return }
    exists = true
    isCreated = true
    pendingEpoch = position.epoch
  }

  /// Deletes an item whose end has come.
  func end(_ item: ElementHandle, at time: Int64) {
    state.delete(item)
    windowTime = max(windowTime, time)
  }

  /// Forgets the records that were applied before the feed existed: they are not part of its epoch. A
  /// published feed keeps its epoch when it is deleted and created again within a window.
  @inline(never)
  private func beginLife() {
    isCreated = false
    if version == nil, !windowThrough.isEmpty {
      windowThrough.removeAll()
      hasRecordsBeforeEpoch = true
    }
  }

  // MARK: Publication

  /// Confirms that the flush was published: the next difference starts from the current version.
  public func confirm() {
    if let pendingVersion {
      version = pendingVersion
    } else {
      for entry in windowThrough { unpublishedThrough.raise(entry.topic, to: entry.offset) }
    }
    if !unpublishedThrough.isEmpty { forgetPublished() }
    state.confirm()
    endWindow()
  }

  /// Removes the positions of earlier windows that `version` also contains.
  private func forgetPublished() {
    let published = version?.through
    unpublishedThrough = unpublishedThrough.filter { entry in
      published.map { $0.offset(entry.topic) ?? -1 < entry.offset } ?? false
    }
  }

  /// Rolls the feed back to its published version. The records since then must be applied again.
  public func rollBack() {
    state.rollBack()
    exists = version != nil
    endWindow()
  }

  private func endWindow() {
    pendingVersion = nil
    isReloadRequested = false
    windowThrough.removeAll()
    windowTime = .min
    isListedForFlush = false
    hasRecordsBeforeEpoch = false
  }
}

/// The latest published version of a feed, and the keys of its records on the compacted topic.
public struct PublishedVersion: Sendable, Equatable {
  /// The record that created the feed, and when it was taken: `topic:milliseconds/offset`.
  public var epoch: [UInt8]
  /// Published changesets of this epoch, from 1.
  public var revision: UInt64
  /// For each input topic, sorted by name, the newest record taken.
  public var through: [TopicOffset]
  /// Delta records since the last reload.
  public var deltaCount = 0
  /// Bytes of these records' values.
  public var deltaBytes = 0
  /// Bytes of the last reload's values.
  public var reloadBytes = 0
  /// Parts of the last reload: the keys `k0…` with a value.
  public var reloadParts = 0
  /// The largest delta number of the epoch: the keys `d1…` with a value.
  public var highestDelta = 0

  public init(epoch: [UInt8], revision: UInt64, through: [TopicOffset]) {
    self.epoch = epoch
    self.revision = revision
    self.through = through
  }
}

extension PublishedFeed {
  /// Computes a flush's difference without planning or encoding it, and counts its entries. Changes nothing.
  @_spi(Measuring)
  public func differenceCounts() -> PublicationOutcome.EntryCounts {
    _ = state.tally()
    let difference = state.difference()
    return PublicationOutcome.EntryCounts(difference.sections, difference.items)
  }
}

extension Unmanaged<PublishedFeed> {
  /// Applies the decoder's record. Not a closure, which in an actor would check its executor for each record.
  ///
  /// - Parameter noOps: counts of events without effect.
  public func apply(
    _ decoder: RecordDecoder,
    at position: RecordPosition,
    usage: StateUsage,
    noOps: inout [NoOpReason: Int]
  ) throws(Rejection) -> FeedDirectory.Count {
    var count = 0
    let outcome = _withUnsafeGuaranteedRef { feed in
      Result { () throws(Rejection) in
        try feed.apply(decoder, at: position, usage: usage) {
          noOps[$0, default: 0] += 1
          count += 1
        }
      }
    }
    var growth = try outcome.get()
    growth.noOps = count
    return growth
  }
}
