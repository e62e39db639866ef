import Feed

/// What the reader tells.
extension BoardState {
  /// What is asked for, once: a request to follow is the reader's then.
  mutating func takeRequest() -> FeedBoard.Request {
    defer { if request != .stop { request = .none } }
    return request
  }

  // MARK: Partitions

  /// Follows exactly these partitions. Those that were followed before go on where they are.
  ///
  /// - Parameters:
  ///   - beginnings: the offsets of the others' first records.
  ///   - loaded: what was saved of the others.
  mutating func open(
    _ numbers: Set<Int32>,
    beginnings: [Int32: Int64],
    loaded: [Int32: LoadedPartition] = [:]
  ) {
    for number in partitions.keys where !numbers.contains(number) { drop(number) }
    for number in numbers where partitions[number] == nil {
      let partition = FollowedPartition(
        number,
        position: beginnings[number] ?? 0,
        keeping: kept,
        asOf: lastIdle,
        loaded: loaded[number]
      )
      partitions[number] = partition
      tellOfLoadedFeeds(partition)
    }
    isOpen = true
    tellOfAbsentFeeds()
    updateStanding()
  }

  /// Begins the history of what follows with the state that it applies to.
  private mutating func tellOfLoadedFeeds(_ partition: FollowedPartition) {
    guard historyCount > 0 else { return }
    for feed in partition.feeds {
      forEachListener(to: feed) { subscriber in
        if subscriber.mailbox.options.beginsWithHistory { subscriber.mailbox.addNewest(feed) }
      }
    }
  }

  /// Forgets a partition, and tells that its feeds are gone.
  private mutating func drop(_ number: Int32) {
    guard let partition = partitions.removeValue(forKey: number) else { return }
    for feed in partition.feeds { forEachListener(to: feed) { $0.mailbox.addNewest(feed) } }
  }

  // MARK: Records

  /// Takes a record of a partition; one that is not followed is passed over.
  ///
  /// - Parameter plan: what the record's header says of why the changeset is what it is; read only where it is of use.
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
      // The topic was made anew, or cut: what was read is not what it has now.
      drop(number)
      partition = FollowedPartition(number, position: offset, keeping: kept, asOf: lastIdle)
      partitions[number] = partition
    }
    do throws(ReplicaFault) {
      let keepsChanges = partition.isBootstrapped ? !subscribers.isEmpty : historyCount > 0
      let news = try partition.take(
        offset: offset,
        key: key,
        value: value,
        keepsChanges: keepsChanges,
        lastIdle: lastIdle,
        plan: plan
      )
      if let news { tell(news, of: partition) }
      return .taken
    } catch {
      return .unreadable(error)
    }
  }

  /// Notes the end of a partition.
  mutating func noteEnd(_ number: Int32, offset: Int64) {
    guard let partition = partitions[number], partition.noteEnd(at: offset, lastIdle: lastIdle) else {
      return
    }
    for feed in partition.feeds {
      let isLost = partition.reasonForLoss(of: feed) != nil
      forEachListener(to: feed) { subscriber in
        if isLost || !subscriber.mailbox.options.beginsWithHistory { subscriber.mailbox.addNewest(feed) }
      }
    }
    tellOfAbsentFeeds()
  }

  /// Tells those who named a feed that there is none, once all partitions are known.
  private mutating func tellOfAbsentFeeds() {
    guard isOpen, partitions.values.allSatisfy(\.isBootstrapped) else { return }
    for feed in listeners.keys where !isKnown(feed) {
      forEachListener(to: feed) { $0.mailbox.addNewest(feed) }
    }
  }

  private mutating func tell(_ news: FollowedPartition.News, of partition: FollowedPartition) {
    switch news {
    case .changed(let feed, let changeset):
      // A reload's result is not to be had from what a subscriber has already.
      let snapshot = changeset.change.mode == .reload ? partition.content(of: feed)?.snapshot : nil
      tell(feed, of: partition) { subscriber in
        let snapshot = subscriber.mailbox.options.hasSnapshots ? snapshot : nil
        subscriber.mailbox.add(.changed(changeset, snapshot), of: feed, byteCount: changeset.change.byteCount)
      }
    case .changedUnseen(let feed): tell(feed, of: partition) { $0.mailbox.addNewest(feed) }
    case .lost(let feed, let reason):
      // Before the end, a later reload makes up for what compaction took.
      guard partition.isBootstrapped else { return }
      tell(feed, of: partition) {
        $0.mailbox.add(.mustRefetch(feed: feed.string, reason: reason), of: feed, byteCount: 0)
      }
    case .removed(let feed, let changeset):
      tell(feed, of: partition) {
        $0.mailbox.add(
          .absent(feed: feed.string, changeset: changeset),
          of: feed,
          byteCount: changeset?.count ?? 0
        )
      }
    }
  }

  private mutating func tell(
    _ feed: ByteText,
    of partition: FollowedPartition,
    _ body: (inout Subscriber) -> Void
  ) {
    forEachListener(to: feed) { subscriber in
      if partition.isBootstrapped || subscriber.mailbox.options.beginsWithHistory { body(&subscriber) }
    }
  }

  /// Changes the subscribers of a feed, and wakes those who have something to take then.
  private mutating func forEachListener(to feed: ByteText, _ body: (inout Subscriber) -> Void) {
    func change(_ number: Int) {
      guard var subscriber = subscribers.removeValue(forKey: number) else { return }
      body(&subscriber)
      if !subscriber.mailbox.isEmpty {
        subscriber.waiter?.resume()
        subscriber.waiter = nil
      }
      subscribers[number] = subscriber
    }
    for number in listenersToAll { change(number) }
    for number in listeners[feed] ?? [] { change(number) }
  }

  // MARK: Standing

  /// Says where the reading stands, after a batch.
  mutating func updateStanding() {
    let new = isOpen ? partitions.values.map(\.standing).min() ?? .upToDate : .bootstrapping
    guard new != standing else { return }
    standing = new
    for watcher in standingWatchers.values { watcher.yield(new) }
  }

  /// Whether somebody for whom the reading pauses has no room.
  var isFull: Bool { pausing.contains { subscribers[$0]?.mailbox.isFull == true } }

  /// - Returns: those who watch the standing, to be finished when the lock is not held: their ends take it.
  mutating func finish(_ end: FeedBoard.End) -> [AsyncStream<FeedStanding>.Continuation] {
    self.end = end
    request = .stop
    for number in Array(subscribers.keys) { wake(number) }
    defer { standingWatchers = [:] }
    return Array(standingWatchers.values)
  }

  /// Has a subscriber that waits look again.
  mutating func wake(_ number: Int) {
    subscribers[number]?.waiter?.resume()
    subscribers[number]?.waiter = nil
  }
}
