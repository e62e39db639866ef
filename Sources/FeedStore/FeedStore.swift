public import Feed

/// Holds all feeds of its partitions, applies updates, and publishes the resulting changes.
///
/// The caller drives it: call `apply` with batches until a flush is due; publish the waiting changes as a ``Flush``, and report
/// the outcome with `confirm` or `rollBack`. Nothing else can be applied before the flush has ended. The store never
/// reads a clock.
public actor FeedStore {
  private let options: FeedStoreOptions
  private let decoder: RecordDecoder
  private let publisher: ChangesetPublisher
  @exclusivity(unchecked) private var coalescer: Coalescer
  private(set) var directories: [Int32: FeedDirectory] = [:]
  /// The partition that is being restored.
  private var restoring: (partition: Int32, replicas: ReplicaPartition, directory: FeedDirectory)?
  /// Feeds that may not show the present contents, after a restoration or a rollback.
  private(set) var stale: [(partition: Int32, feed: PublishedFeed)] = []
  /// For each topic, the newest record that feeds of the last restored partition have taken.
  public private(set) var restoredThrough: [TopicOffset] = []
  /// The memory for all feeds' data.
  private let blocks = BlockPool()
  let share: StateShare
  /// The contents that items refer to.
  private let contents: ContentTable
  /// Shows their changes; nil if the store itself changes them.
  private var spread: ContentSpread?
  /// Whether records come before the next slice of contents.
  private var isRecordsTurn = false
  /// The name of their topic as UTF-8; nil if items have no references.
  private let contentsTopic: [UInt8]?
  private var hasContents: Bool { contentsTopic != nil }
  /// The ids that exist in several of the store's partitions.
  private var sharedIDs = SharedIDs()
  /// The most recently used entry of `directories`. Records of one partition arrive in groups.
  @exclusivity(unchecked) private var recent: (partition: Int32, directory: Unmanaged<FeedDirectory>)?
  @exclusivity(unchecked) private var waiting = WaitingRecords()
  /// Whether publications list the records that changed nothing.
  public var notesUnchanged = false
  /// Whether a ``Flush`` has neither been confirmed nor rolled back.
  private var isFlushing = false
  /// The records of the current part.
  private let buffer = RecordBuffer()
  /// Everything published or applied so far. Rolling back a flush restores the values from before it.
  @exclusivity(unchecked) public private(set) var counters = StoreCounters()
  private var countersBeforeWindow = StoreCounters()

  /// The size at which a part of a publication ends: after a part of a reload, or after a difference.
  private static let partBytes = 4 << 20
  /// The number of feeds that one step of a restore takes over, which takes some milliseconds.
  private static let restoredAtOnce = 10_000
  /// The number of items that end in one step of the daemon, which takes some milliseconds.
  private static let endedAtOnce = 10_000
  /// The same for items that show a changed content.
  private static let shownAtOnce = 5_000

  /// - Parameters:
  ///   - budget: counts the state of all stores in the process.
  ///   - contents: the contents that items refer to.
  ///   - followsContents: whether others change the contents; if not, the store applies their records.
  public init(
    options: FeedStoreOptions,
    budget: StateBudget = StateBudget(),
    contents: ContentTable = ContentTable(),
    followsContents: Bool = false
  ) {
    self.options = options
    share = StateShare(budget)
    self.contents = contents
    let window = options.contentsWindowMilliseconds
    spread = followsContents ? ContentSpread(contents, windowMilliseconds: window) : nil
    contentsTopic = options.topics.contents.map { Array($0.utf8) }
    decoder = RecordDecoder(limits: options.limits, takesReferences: contentsTopic != nil)
    publisher = ChangesetPublisher(
      planner: options.planner,
      keyframes: options.keyframe,
      output: options.output
    )
    coalescer = Coalescer(options.coalescing)
  }

  // MARK: Restoring

  /// Continues from the published state of a partition that replicas read from the changesets topic.
  ///
  /// - Throws: a ``ReplicaFault`` that names the feed whose state is incomplete; the store is unchanged.
  public func restore(partition: Int32, from replicas: sending ReplicaPartition) throws(ReplicaFault) {
    beginRestoring(partition: partition, from: replicas)
    while try restoreNext() {}
    serve(partition: partition)
  }

  /// Lets the items of a restored partition end and show the present contents, once its input is read.
  public func serve(partition: Int32) {
    guard let directory = directories[partition] else { return }
    directory.isServed = true
    if hasContents { stale += directory.feeds.filter(mayBeStale).map { (partition, $0) } }
  }

  /// Begins the same as ``restore(partition:from:)``, but in steps; continue with ``restoreNext()``.
  public func beginRestoring(partition: Int32, from replicas: sending ReplicaPartition) {
    precondition(!waiting.has(partition: partition), "records from before the restoration are pending")
    sharedIDs.remove(partition)
    restoring = (partition, replicas, FeedDirectory(blocks: blocks, contents: contents))
    restoredThrough = []
  }

  /// Takes over the next few feeds.
  ///
  /// - Returns: whether there may be more.
  /// - Throws: a ``ReplicaFault`` that names the feed whose state is incomplete; the store is unchanged.
  public func restoreNext() throws(ReplicaFault) -> Bool {
    guard let (partition, replicas, directory) = restoring else { return false }
    do throws(ReplicaFault) {
      for feed in try replicas.takeFeeds(most: FeedStore.restoredAtOnce) {
        directory.insert(feed)
        for entry in feed.version?.through ?? [] { restoredThrough.raise(entry.topic, to: entry.offset) }
        noteSharedID(feed.id, of: partition, exists: true)
      }
    } catch {
      restoring = nil
      sharedIDs.remove(partition)
      throw error
    }
    if replicas.hasFeedsLeft { return true }
    share.add(directory.stateBytes - (directories[partition]?.stateBytes ?? 0))
    directory.isServed = false
    directories[partition] = directory
    recent = nil
    restoring = nil
    return false
  }

  /// Makes the feeds of a partition forget their positions in a topic, because the topic's offsets have begun
  /// again. No changes of the partition may be waiting.
  public func forgetTaken(of topic: [UInt8], partition: Int32) {
    checkNoFlush()
    precondition(!waiting.has(partition: partition), "records of the partition are waiting")
    guard let directory = directories[partition] else { return }
    for feed in directory.feeds { feed.forgetTaken(of: topic) }
  }

  /// Removes the feeds of a partition that was revoked, or that will be restored again. Other partitions are not
  /// affected.
  ///
  /// No changes of the partition may be waiting: publish them or roll them back first.
  public func drop(partition: Int32) {
    checkNoFlush()
    precondition(!waiting.has(partition: partition), "records of a partition that is dropped are waiting")
    if restoring?.partition == partition { restoring = nil }
    _ = removeDirectory(of: partition)
  }

  /// Removes the feeds of a partition, and returns their published state.
  ///
  /// No changes of the partition may be waiting: publish them or roll them back first.
  ///
  /// - Returns: replicas that continue from there; nil if the store has no feed of the partition.
  public func takeOut(partition: Int32) -> GivenUpPartition? {
    checkNoFlush()
    precondition(!waiting.has(partition: partition), "records of a partition that is handed out are waiting")
    return removeDirectory(of: partition).map { GivenUpPartition($0) }
  }

  private func removeDirectory(of partition: Int32) -> FeedDirectory? {
    stale.removeAll { $0.partition == partition }
    guard let directory = directories.removeValue(forKey: partition) else { return nil }
    recent = nil
    sharedIDs.remove(partition)
    share.add(-directory.stateBytes)
    return directory
  }

  // MARK: Input

  /// Applies records of the batch until it is exhausted or a flush is due.
  ///
  /// Before that, items are deleted whose end has come: by the clock, or before each record by its timestamp.
  ///
  /// - Throws: the batch's error. The records before it have been applied, and wait for publication.
  public func apply(_ batch: any InputBatch, time: TimeSource) throws -> ApplyOutcome {
    checkNoFlush()
    if spread == nil { refreshStale() }
    defer { counters.endedItems += decoder.takeEndedItems() }
    var lookAhead = LookAhead()
    var nextEnd = nextEnd
    if case .clock(let now, let wall) = time {
      if nextEnd <= wall, endItems(by: wall, at: now) { return .flushDue }
      // By turns with records, even if each slice has to be published at once.
      if spread != nil, !isRecordsTurn {
        isRecordsTurn = true
        if showContents(at: now) { return .flushDue }
      }
    }
    while let record = try batch.current() {
      let now: Int64
      switch time {
      case .records:
        now = record.position.time
        while nextEnd <= now {
          if coalescer.isFlushDue(at: nextEnd) || endItems(by: nextEnd, at: nextEnd) { return .flushDue }
          nextEnd = self.nextEnd
        }
      case .clock(let clock, _): now = clock
      }
      if coalescer.isFlushDue(at: now) { return .flushDue }
      if let (partition, key, value) = batch.upcoming(LookAhead.distance) {
        lookAhead.advance(to: recentDirectory(of: partition), key: key, value: value)
      }
      let byteCount = record.byteCount
      let restored = take(record, byteCount)
      if case .records = time {
        nextEnd = min(nextEnd, directory(of: record.partition)._withUnsafeGuaranteedRef { $0.nextEnd })
      }
      let isFull = coalescer.add(
        records: 1 + restored / Coalescer.restoredPerRecord,
        bytes: byteCount,
        copiedBytes: waiting.rejectedBytes,
        at: now
      )
      batch.advance()
      isRecordsTurn = false
      if isFull { return .flushDue }
    }
    isRecordsTurn = false
    return .exhausted
  }

  /// Deletes items whose end has come, which waits like a record for each of them.
  ///
  /// - Parameter time: when, by the time source of the window.
  /// - Returns: whether the waiting changes must be published at once.
  private func endItems(by end: Int64, at time: Int64) -> Bool {
    let before = counters
    var left = FeedStore.endedAtOnce
    for (partition, directory) in directories {
      let (items, bytes) = directory.endItems(by: end, most: &left) { waiting.feeds.append((partition, $0)) }
      share.add(bytes)
      counters.endedItems += items
      if items > 0 { waiting.withoutRecords.insert(partition) }
    }
    let ended = counters.endedItems - before.endedItems
    if ended == 0 { return false }
    if !isPublicationDue { countersBeforeWindow = before }
    return coalescer.add(records: ended, bytes: 0, copiedBytes: waiting.rejectedBytes, at: time)
  }

  /// A time since 1970 before which no item ends. O(p) for p partitions.
  public var nextEnd: Int64 { directories.values.reduce(.max) { min($0, $1.nextEnd) } }

  /// Sets whether the input lags, so that more may be published at once.
  public func noteBacklog(_ isBehind: Bool) { coalescer.isBehind = isBehind }

  /// Records how long the flush in progress has taken. Call it before the last part is confirmed.
  public func notePublication(milliseconds: Int64) { coalescer.notePublication(milliseconds: milliseconds) }

  /// When the waiting changes are due, in the milliseconds of the time source; nil if nothing waits.
  public var deadline: Int64? { coalescer.deadline ?? (stale.isEmpty || spread != nil ? nil : 0) }

  /// When `apply` next shows changed contents, even without records; nil if nothing has changed.
  public func nextContents(at now: Int64) -> Int64? {
    guard let spread else { return nil }
    return stale.isEmpty ? spread.nextTime(at: now) : now
  }

  /// Since when a content has changed that is not shown everywhere; nil if there is none.
  public var contentsChangedSince: Int64? { spread?.since }

  /// Whether changes of a partition, or only offsets, wait to be published.
  public func isPublicationDue(of partition: Int32) -> Bool { waiting.has(partition: partition) }

  /// Whether changes, or only offsets, wait to be published.
  public var isPublicationDue: Bool { deadline != nil }

  /// Records that all records of an input partition before an offset have been applied. Transaction markers occupy
  /// offsets, and compaction leaves gaps.
  ///
  /// The position waits for the window like a record, so that the offset is committed and the lag does not count
  /// offsets without records.
  ///
  /// - Parameters:
  ///   - topic: the topic's name as UTF-8.
  ///   - partition: the partition's number.
  ///   - nextOffset: the offset after the last one that is covered.
  ///   - time: the current time, in the milliseconds of the time source of `apply`.
  public func cover(topic: [UInt8], partition: Int32, upTo nextOffset: Int64, at time: Int64) {
    checkNoFlush()
    if !coalescer.isWaiting { countersBeforeWindow = counters }
    waiting.cover(topic: topic, partition: partition, upTo: nextOffset)
    coalescer.begin(at: time)
  }

  /// Applies or rejects a record.
  ///
  /// - Returns: the number of elements that were put back because the record was rejected.
  private func take(_ record: InputRecord, _ byteCount: Int) -> Int {
    if !coalescer.isWaiting { countersBeforeWindow = counters }
    counters.records += 1
    counters.inputBytes += byteCount
    waiting.cover(record)
    if hasContents, isContent(record) {
      takeContent(record, byteCount)
      return 0
    }
    let directory = directory(of: record.partition)
    do throws(Rejection) {
      guard let addressee = try directory.decode(record, with: decoder) else {
        counters.noOps[.alreadyApplied, default: 0] += 1
        return 0
      }
      counters.events += decoder.eventCount
      if addressee.isNewlyListed {
        waiting.feeds.append((record.partition, addressee.feed.takeUnretainedValue()))
      }
      let usage = StateUsage(
        feeds: directory._withUnsafeGuaranteedRef { $0.existingCount },
        bytes: share.processBytes
      )
      let growth = try addressee.feed.apply(
        decoder,
        at: record.position,
        usage: usage,
        noOps: &counters.noOps
      )
      directory._withUnsafeGuaranteedRef { $0.add(growth) }
      share.add(growth.bytes)
      counters.cutItems += growth.cut
      if notesUnchanged, growth.noOps == decoder.eventCount {
        let position = TopicOffset(topic: record.position.topic, offset: record.position.offset)
        waiting.unchanged.append((record.partition, position))
      }
      return 0
    } catch {
      counters.rejects[error.code, default: 0] += 1
      waiting.reject(record, error, bytes: byteCount)
      return error.restoredElements
    }
  }

  @inline(never)
  private func isContent(_ record: InputRecord) -> Bool {
    contentsTopic.map { TopicOffset.isSame(record.position.topic, $0) } ?? false
  }

  /// Applies or rejects a record of the contents topic.
  private func takeContent(_ record: InputRecord, _ byteCount: Int) {
    let (change, rejection) = contents.apply(record, with: decoder)
    if let rejection {
      counters.rejects[rejection.code, default: 0] += 1
      waiting.reject(record, rejection, bytes: byteCount)
    }
    guard let change else { return }
    waiting.contents.append(change)
    guard let number = change.number else { return }
    counters.contents += 1
    for partition in directories.keys.sorted() {
      var (left, most) = (Int.max, Int.max)
      show(number, in: partition, at: record.position.time, left: &left, most: &most)
    }
  }

  /// Shows the next few changed contents.
  ///
  /// - Returns: whether the waiting changes must be published at once.
  private func showContents(at now: Int64) -> Bool {
    let before = counters
    var most = FeedStore.shownAtOnce
    refreshStale(most: &most)
    counters.contents += spread?.take(for: directories.keys.sorted(), at: now) ?? 0
    if most > 0 {
      spread?.advance { partition, number, time, left in
        // A content that nothing here refers to counts, too, so that a slice has an end.
        most -= 1
        show(number, in: partition, at: time, left: &left, most: &most)
      }
    }
    let shown = counters.shownItems - before.shownItems
    if shown == 0 { return false }
    if !isPublicationDue { countersBeforeWindow = before }
    return coalescer.add(records: shown, bytes: 0, copiedBytes: waiting.rejectedBytes, at: now)
  }

  private func show(
    _ content: UInt32,
    in partition: Int32,
    at time: Int64,
    left: inout Int,
    most: inout Int
  ) {
    // Of a partition that is not served yet, older contents may have been read than it shows.
    guard let directory = directories[partition], directory.isServed else {
      left = 0
      return
    }
    let bytes = directory.stateBytes
    counters.shownItems += directory.show(content, at: time, left: &left, most: &most) { list($0, partition) }
    share.add(directory.stateBytes - bytes)
  }

  /// Shows the present contents in all stale feeds. Their changes are due at once.
  private func refreshStale() {
    if stale.isEmpty { return }
    if !coalescer.isWaiting { countersBeforeWindow = counters }
    var most = Int.max
    refreshStale(most: &most)
    coalescer.begin(at: 0)
  }

  /// Shows the present contents in stale feeds, of which the last may have more items than are left to visit.
  private func refreshStale(most: inout Int) {
    while most > 0, let (partition, feed) = stale.popLast() {
      guard let directory = directories[partition] else { continue }
      let bytes = directory.stateBytes
      let (changed, visited) = directory.showContents(in: feed, at: contents.newest) { list($0, partition) }
      counters.shownItems += changed
      most = max(0, most - max(1, visited))
      share.add(directory.stateBytes - bytes)
    }
  }

  /// Whether a feed may have items that do not show the present contents.
  private func mayBeStale(_ feed: PublishedFeed) -> Bool {
    spread == nil ? feed.isStale : feed.hasReferences
  }

  /// Lists a feed that changed without a record.
  private func list(_ feed: PublishedFeed, _ partition: Int32) {
    counters.shownFeeds += 1
    waiting.feeds.append((partition, feed))
    waiting.withoutRecords.insert(partition)
  }

  /// Fields of events that had no effect. Records that are read again count again.
  public var ignoredFields: IgnoredFields { decoder.ignored }

  /// The most recently used directory, if it belongs to this partition.
  private func recentDirectory(of partition: Int32) -> Unmanaged<FeedDirectory>? {
    guard let recent, recent.partition == partition else { return nil }
    return recent.directory
  }

  /// Not a counted reference, because every record would retain and release it.
  @inline(__always)
  private func directory(of partition: Int32) -> Unmanaged<FeedDirectory> {
    if let recent, recent.partition == partition { return recent.directory }
    return findDirectory(of: partition)
  }

  @inline(never)
  private func findDirectory(of partition: Int32) -> Unmanaged<FeedDirectory> {
    let directory: FeedDirectory
    if let known = directories[partition] {
      directory = known
    } else {
      directory = FeedDirectory(blocks: blocks, contents: contents)
      directories[partition] = directory
    }
    recent = (partition, .passUnretained(directory))
    return .passUnretained(directory)
  }

  // MARK: Publication

  /// Begins to publish the waiting changes.
  public func beginFlush() -> Flush {
    checkNoFlush()
    if spread == nil { refreshStale() }
    waiting.sortFeeds()
    let isLarge = waiting.mostPublishedBytes(inputBytes: coalescer.waitingBytes) > options.maxTransactionBytes
    isFlushing = true
    counters.flushes += 1
    return Flush(of: self, independentFeeds: isLarge ? waiting.moveDependentFeedsLast() : 0)
  }

  /// Writes the next part of the flush, which ``withPart(of:_:)`` then lends.
  public func prepareNextPart(of flush: inout Flush) {
    flush.check(isOf: self)
    precondition(
      !flush.isAtEndOfTransaction,
      "the end of a transaction was neither confirmed nor rolled back"
    )
    buffer.removeAll()
    while flush.nextFeed < waiting.feeds.count, buffer.bytes.count < FeedStore.partBytes,
      !flush.mayEndTransaction(adding: buffer.bytes.count, maxBytes: options.maxTransactionBytes)
    {
      let (partition, feed) = waiting.feeds[flush.nextFeed]
      buffer.partition = partition
      if !flush.isWriting {
        guard let outcome = publisher.begin(feed) else {
          flush.nextFeed += 1
          continue
        }
        count(outcome)
        if outcome.mode == .delete || outcome.reason == .initial {
          noteSharedID(feed.id, of: partition, exists: feed.exists)
        }
        flush.isWriting = true
      }
      if !publisher.writeNext(to: buffer) {
        if publisher.wroteKeyframe { counters.reloads[.keyframe, default: 0] += 1 }
        flush.isWriting = false
        flush.nextFeed += 1
      }
    }
    for record in buffer.records { counters.outputBytes += record.key.count + (record.value?.count ?? 0) }
    counters.outputRecords += buffer.records.count
    flush.addPart(
      bytes: buffer.bytes.count,
      feedCount: waiting.feeds.count,
      maxBytes: options.maxTransactionBytes
    )
  }

  /// Lends the current part of the flush. It can be lent any number of times until the next one is prepared or the
  /// flush is confirmed or rolled back.
  public func withPart<Result, Failure: Error>(
    of flush: borrowing Flush,
    _ body: (borrowing Publication) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    flush.check(isOf: self)
    precondition(flush.hasPart, "no part of the flush is prepared")
    return try body(
      Publication(
        buffer: buffer,
        contents: hasContents ? contents.seenText : [],
        rejected: flush.isAtEnd ? waiting.rejected : [],
        unchanged: flush.isAtEnd ? waiting.unchanged : [],
        covered: flush.isAtEnd ? waiting.covered() : [],
        isLast: flush.isAtEnd,
        endsTransaction: flush.isAtEndOfTransaction
      )
    )
  }

  private func count(_ outcome: PublicationOutcome) {
    counters.changesets[outcome.mode, default: 0] += 1
    if let reason = outcome.reason { counters.reloads[reason, default: 0] += 1 }
    counters.entries.add(outcome.counts)
  }

  /// Confirms that everything up to the current part, which ends a transaction, was published.
  ///
  /// - Returns: the flush, to continue with; nil if everything is published.
  public func confirm(_ flush: consuming Flush) -> Flush? {
    flush.check(isOf: self)
    precondition(flush.isAtEndOfTransaction, "published in the middle of a transaction")
    for (_, feed) in waiting.feeds[flush.confirmedFeeds..<flush.nextFeed] { feed.confirm() }
    guard !flush.isAtEnd else {
      end(flush, isPublished: true)
      return nil
    }
    // If the rest is rolled back, the records of these feeds are read again and skipped.
    countersBeforeWindow.takePublished(from: counters)
    flush.beginTransaction()
    return flush
  }

  /// Rolls every feed back to its published state: waiting changes, and parts that were not confirmed, are withdrawn.
  /// The caller must apply the records again, from the committed offsets.
  public func rollBack(_ flush: consuming Flush) {
    flush.check(isOf: self)
    rollBackFeeds(from: flush.confirmedFeeds)
    end(flush, isPublished: false)
  }

  /// Rolls every feed back to its published state while no flush is in progress. The caller must apply the records
  /// again, from the committed offsets.
  public func rollBack() {
    checkNoFlush()
    rollBackFeeds(from: 0)
    endWindow(isPublished: false)
  }

  private func rollBackFeeds(from first: Int) {
    for (partition, feed) in waiting.feeds[first...] {
      let directory = directory(of: partition).takeUnretainedValue()
      let before = feed.count
      feed.rollBack()
      let growth = feed.count - before
      directory.add(growth)
      share.add(growth.bytes)
    }
    contents.undo(waiting.contents)
    if hasContents { stale += waiting.feeds[first...].filter { mayBeStale($0.feed) } }
    counters = countersBeforeWindow
  }

  private func end(_ flush: consuming Flush, isPublished: Bool) {
    flush.end()
    isFlushing = false
    buffer.removeAll()
    endWindow(isPublished: isPublished)
  }

  private func endWindow(isPublished: Bool) {
    for (partition, feed) in waiting.feeds where feed.isForgettable {
      directories[partition]?.remove(feed)
    }
    for directory in directories.values { directory.trimEnds() }
    waiting.removeAll()
    coalescer.reset(isPublished: isPublished)
  }

  private func checkNoFlush() {
    precondition(!isFlushing, "a flush is in progress; confirm it or roll it back first")
  }

  // MARK: Shared ids

  /// Updates `sharedIDs` after a feed was created or deleted: searches the other partitions for its id.
  private func noteSharedID(_ id: ByteSpan, of partition: Int32, exists: Bool) {
    let others = directories.keys.filter { $0 != partition && directories[$0]?.feed(id)?.exists == true }
    if !others.isEmpty { sharedIDs.note(ByteText(id), in: exists ? others + [partition] : others) }
  }

  /// A message for each id that exists in several partitions, which is always a producer's mistake.
  public func takeSharedIDs() -> [String] { sharedIDs.takeNews() }

  // MARK: Inspection

  /// The size of the feeds' state in bytes, by the formula of `StateSize`.
  public var stateBytes: Int { share.bytes }

  public var feedCount: Int { directories.values.reduce(0) { $0 + $1.count } }

  /// The numbers of feeds, sections and items. O(p) for p partitions.
  public var content: StoreContent {
    var content = StoreContent()
    content.bytes = stateBytes
    content.sharedIDs = sharedIDs.count
    for directory in directories.values {
      content.feeds += directory.existingCount
      content.sections += directory.sectionCount
      content.items += directory.itemCount
    }
    return content
  }

  /// Whether a section of the partition has an order or a bound: now, or in the state that stays published
  /// after the flush's transaction is committed.
  public func hasSettings(partition: Int32, after flush: borrowing Flush) -> Bool {
    if let directory = directories[partition], directory.settingsCount > 0 { return true }
    return waiting.feeds[flush.nextFeed...].contains {
      $0.partition == partition && $0.feed.hasPublishedSettings
    }
  }

  /// The same for an item with an end, or a section that gives its items one.
  public func hasEnds(partition: Int32, after flush: borrowing Flush) -> Bool {
    if let directory = directories[partition], directory.hasEnds { return true }
    return waiting.feeds[flush.nextFeed...].contains { $0.partition == partition && $0.feed.hasPublishedEnds }
  }

  /// The last published version of a feed; nil if the feed does not exist.
  public func version(of feed: ByteSpan, partition: Int32) -> PublishedVersion? {
    directories[partition]?.feed(feed)?.version
  }

  package func version(of feed: ByteText, _ partition: Int32) -> PublishedVersion? {
    feed.withBytes { version(of: $0, partition: partition) }
  }

  public func summaries() -> [FeedSummary] {
    directories.flatMap { partition, directory in
      directory.feeds.map { FeedSummary(partition: partition, $0) }
    }.sorted(by: FeedSummary.precedes)
  }
}

/// The published state of a partition's feeds, which a store has given up.
///
/// Unchecked: it holds the only references, so it may move to another thread, once.
public struct GivenUpPartition: @unchecked Sendable {
  public let replicas: ReplicaPartition

  init(_ directory: FeedDirectory) { replicas = ReplicaPartition(continuing: directory) }
}
