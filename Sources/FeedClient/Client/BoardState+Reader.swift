import Feed

/// Operations that the reading thread calls.
extension BoardState {
  /// Returns the pending request and clears it. After a request to follow, the reader is responsible for it.
  mutating func takeRequest() -> FeedBoard.Request {
    defer { if request != .stop { request = .none } }
    return request
  }

  // MARK: Partitions

  /// Follows exactly these partitions. Partitions that were already followed keep their positions.
  ///
  /// - Parameters:
  ///   - beginnings: the first offsets of newly followed partitions.
  ///   - ends: their ends; what others have read of them is used only if it lies between.
  mutating func open(_ numbers: Set<Int32>, beginnings: [Int32: Int64], ends: [Int32: Int64] = [:]) {
    let gone = partitions.keys.filter { !numbers.contains($0) }.sorted()
    let dropped = Set(gone.flatMap { drop($0) })
    for number in numbers.sorted() where partitions[number] == nil {
      let adopted = adopted.removeValue(forKey: number)
      let isUsable = adopted?.isWithin(low: beginnings[number] ?? 0, high: ends[number] ?? -1) == true
      let partition = FollowedPartition(
        number,
        position: beginnings[number] ?? 0,
        keeping: kept,
        adopted: isUsable ? adopted : nil
      )
      partitions[number] = partition
      deliverAdoptedFeeds(partition)
    }
    isOpen = true
    deliverAbsentFeeds(except: dropped)
    updateStanding()
  }

  /// Starts the history for subscribers with the adopted state, which the first changesets apply to.
  private mutating func deliverAdoptedFeeds(_ partition: FollowedPartition) {
    guard historyCount > 0 else { return }
    for feed in partition.feeds {
      forEachListener(to: feed) { subscriber in
        if subscriber.mailbox.options.beginsWithHistory {
          subscriber.mailbox.addNewest(FeedAddress(partition.number, feed))
        }
      }
    }
  }

  /// Drops a partition and reports its feeds as absent.
  ///
  /// - Returns: its feeds.
  @discardableResult
  private mutating func drop(_ number: Int32) -> [ByteText] {
    guard let partition = partitions.removeValue(forKey: number) else { return [] }
    sharedIDs.remove(number)
    for feed in partition.feeds {
      forEachListener(to: feed) { $0.mailbox.addNewest(FeedAddress(number, feed)) }
    }
    return partition.feeds
  }

  // MARK: Records

  /// Applies a record of a partition. Records of partitions that are not followed are ignored.
  ///
  /// - Parameter plan: decodes the plan from the record's headers. It is called only if the plan is used.
  mutating func take(
    _ number: Int32,
    offset: Int64,
    key: ByteSpan,
    value: ByteSpan?,
    plan: () -> ChangesetPlan? = { nil }
  ) -> FeedBoard.Taken {
    guard var partition = partitions[number] else { return .taken }
    if isFull { return .noRoom }
    if offset < partition.position {
      // The topic was recreated or truncated, so the state read so far is no longer part of it.
      drop(number)
      partition = FollowedPartition(number, position: offset, keeping: kept)
      partitions[number] = partition
    }
    let (news, fault) = partition.take(
      offset: offset,
      key: key,
      value: value,
      keepsChanges: partition.isBootstrapped ? !subscribers.isEmpty : historyCount > 0,
      plan: plan
    )
    if let news { note(news, of: partition) }
    return fault.map { .unreadable($0) } ?? .taken
  }

  /// Records that the reader reached the end of a partition.
  mutating func noteEnd(_ number: Int32, offset: Int64) {
    guard let partition = partitions[number], partition.noteEnd(at: offset) else {
      return
    }
    for feed in partition.feeds {
      noteSharedID(feed)
      let isLost = partition.reasonForLoss(of: feed) != nil
      forEachListener(to: feed) { subscriber in
        if isLost || !subscriber.mailbox.options.beginsWithHistory {
          subscriber.mailbox.addNewest(FeedAddress(number, feed))
        }
      }
    }
    deliverAbsentFeeds()
  }

  /// Once all partitions are known, reports `absent` to subscribers that requested a feed that does not exist.
  ///
  /// - Parameter told: feeds that were just reported.
  private mutating func deliverAbsentFeeds(except told: Set<ByteText> = []) {
    guard areKnown else { return }
    for feed in listeners.keys where !isKnown(feed) && !told.contains(feed) {
      forEachListener(to: feed, byName: true) { $0.mailbox.addNewest(FeedAddress(nil, feed)) }
    }
  }

  /// Looks for a feed, which has come into being or is gone, in all partitions that have been read to their ends. Before
  /// that, a feed may belong to the past. O(p) for p partitions.
  private mutating func noteSharedID(_ feed: ByteText) {
    guard partitions.count > 1 else { return }
    let numbers = partitions.values.filter { $0.isBootstrapped && $0.hasReplica(of: feed) }.map(\.number)
    sharedIDs.note(feed, in: numbers)
  }

  mutating func takeSharedIDs() -> [String] { areKnown ? sharedIDs.takeNews() : [] }

  private mutating func note(_ news: FollowedPartition.News, of partition: FollowedPartition) {
    if partition.isBootstrapped {
      switch news {
      case .changed(let feed, let changeset) where changeset.change.mode == .reload: noteSharedID(feed)
      case .changedUnseen(let feed, .reload), .removed(let feed, _): noteSharedID(feed)
      case .changed, .changedUnseen, .lost: break
      }
    }
    if partition.isBootstrapped || historyCount > 0 { deliver(news, of: partition) }
  }

  private mutating func deliver(_ news: FollowedPartition.News, of partition: FollowedPartition) {
    switch news {
    case .changed(let feed, let changeset):
      // A subscriber can compute the result of a difference from its own copy, but not that of a reload.
      let snapshot = changeset.change.mode == .reload ? partition.content(of: feed)?.snapshot : nil
      deliver(feed, of: partition) { subscriber in
        let snapshot = subscriber.mailbox.options.hasSnapshots ? snapshot : nil
        subscriber.mailbox.add(
          .changed(changeset, snapshot),
          of: FeedAddress(partition.number, feed),
          byteCount: changeset.change.byteCount
        )
      }
    case .changedUnseen(let feed, _):
      deliver(feed, of: partition) { $0.mailbox.addNewest(FeedAddress(partition.number, feed)) }
    case .lost(let feed, let reason):
      // Before the end of the partition, a later reload replaces what compaction removed.
      guard partition.isBootstrapped else { return }
      deliver(feed, of: partition) {
        $0.mailbox.add(
          .mustRefetch(feed: feed.string, partition: partition.number, reason: reason),
          of: FeedAddress(partition.number, feed),
          byteCount: 0
        )
      }
    case .removed(let feed, let changeset):
      deliver(feed, of: partition) {
        $0.mailbox.add(
          .absent(feed: feed.string, partition: partition.number, changeset: changeset),
          of: FeedAddress(partition.number, feed),
          byteCount: changeset?.count ?? 0
        )
      }
    }
  }

  private mutating func deliver(
    _ feed: ByteText,
    of partition: FollowedPartition,
    _ body: (inout Subscriber) -> Void
  ) {
    forEachListener(to: feed) { subscriber in
      if partition.isBootstrapped || subscriber.mailbox.options.beginsWithHistory { body(&subscriber) }
    }
  }

  /// Updates each subscriber of a feed, then wakes those that have something to take.
  ///
  /// - Parameter byName: only those that requested the feed.
  private mutating func forEachListener(
    to feed: ByteText,
    byName: Bool = false,
    _ body: (inout Subscriber) -> Void
  ) {
    func change(_ number: Int) {
      guard var subscriber = subscribers.removeValue(forKey: number) else { return }
      body(&subscriber)
      if !subscriber.mailbox.isEmpty {
        subscriber.waiter?.resume()
        subscriber.waiter = nil
      }
      subscribers[number] = subscriber
    }
    if !byName { for number in listenersToAll { change(number) } }
    for number in listeners[feed] ?? [] { change(number) }
  }

  // MARK: Standing

  /// Recomputes the standing; called after each batch.
  mutating func updateStanding() {
    let new = isOpen ? partitions.values.map(\.standing).min() ?? .upToDate : .bootstrapping
    guard new != standing else { return }
    standing = new
    for watcher in standingWatchers.values { watcher.yield(new) }
  }

  /// Whether the queue of a subscriber with the policy `pausesReading` is full.
  var isFull: Bool { pausing.contains { subscribers[$0]?.mailbox.isFull == true } }

  /// - Returns: the continuations of all standing watchers. Finish them without holding the lock, which their
  ///   termination handlers take.
  mutating func finish(_ end: FeedBoard.End) -> [AsyncStream<FeedStanding>.Continuation] {
    self.end = end
    request = .stop
    for number in Array(subscribers.keys) { wake(number) }
    defer { standingWatchers = [:] }
    return Array(standingWatchers.values)
  }

  /// Wakes a waiting subscriber.
  mutating func wake(_ number: Int) {
    subscribers[number]?.waiter?.resume()
    subscribers[number]?.waiter = nil
  }
}
