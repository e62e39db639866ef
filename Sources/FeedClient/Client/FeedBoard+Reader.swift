import Feed

/// What the reader tells.
extension FeedBoard {
  /// What became of a record.
  enum Taken: Sendable {
    case taken
    /// It was none of a changesets topic's.
    case unreadable(ReplicaFault)
    /// Somebody for whom the reading pauses has no room; the record is to be brought again.
    case noRoom
  }

  /// What is asked for, once: a request to follow is the reader's then.
  func takeRequest() -> Request {
    withLock {
      defer { if request != .stop { request = .none } }
      return request
    }
  }

  var hasRequest: Bool { withLock { request != .none } }

  // MARK: Partitions

  /// The partitions that are followed, and how far they were read.
  var positions: [Int32: Int64] { withLock { partitions.mapValues(\.position) } }

  /// Follows exactly these partitions. Those that were followed before go on where they are.
  ///
  /// - Parameters:
  ///   - beginnings: the offsets of the others' first records.
  ///   - loaded: what was saved of the others.
  func open(
    _ numbers: Set<Int32>,
    beginnings: [Int32: Int64],
    loaded: [Int32: LoadedPartition] = [:]
  ) {
    withLock {
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
  }

  /// Begins the history of what follows with the state that it applies to.
  private func tellOfLoadedFeeds(_ partition: FollowedPartition) {
    guard historyCount > 0 else { return }
    for feed in partition.feeds {
      forEachListener(to: feed) { subscriber in
        if subscriber.mailbox.options.beginsWithHistory { subscriber.mailbox.addNewest(feed) }
      }
    }
  }

  /// Forgets a partition, and tells that its feeds are gone.
  private func drop(_ number: Int32) {
    guard let partition = partitions.removeValue(forKey: number) else { return }
    for feed in partition.feeds { forEachListener(to: feed) { $0.mailbox.addNewest(feed) } }
  }

  // MARK: Records

  /// Takes a record of a partition; one that is not followed is passed over.
  ///
  /// - Parameter plan: what the record's header says of why the changeset is what it is; read only where it is of use.
  func take(
    _ number: Int32,
    offset: Int64,
    key: ByteSpan,
    value: ByteSpan?,
    plan: () -> ChangesetPlan? = { nil }
  ) -> Taken {
    withLock {
      guard var partition = partitions[number] else { return .taken }
      if pausing.contains(where: { subscribers[$0]?.mailbox.isFull == true }) { return .noRoom }
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
  }

  /// Notes that nothing has come which was not taken.
  ///
  /// - Parameter now: in milliseconds since 1970.
  func noteIdle(at now: Int64) { withLock { lastIdle = max(lastIdle, now) } }

  /// Notes the end of a partition.
  func noteEnd(_ number: Int32, offset: Int64) {
    withLock {
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
  }

  /// Tells those who named a feed that there is none, once all partitions are known.
  private func tellOfAbsentFeeds() {
    guard isOpen, partitions.values.allSatisfy(\.isBootstrapped) else { return }
    for feed in listeners.keys where !isKnown(feed) {
      forEachListener(to: feed) { $0.mailbox.addNewest(feed) }
    }
  }

  private func tell(_ news: FollowedPartition.News, of partition: FollowedPartition) {
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

  private func tell(
    _ feed: ByteText,
    of partition: FollowedPartition,
    _ body: (inout Subscriber) -> Void
  ) {
    forEachListener(to: feed) { subscriber in
      if partition.isBootstrapped || subscriber.mailbox.options.beginsWithHistory { body(&subscriber) }
    }
  }

  /// Changes the subscribers of a feed, and wakes those who have something to take then.
  private func forEachListener(to feed: ByteText, _ body: (inout Subscriber) -> Void) {
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
  func updateStanding() {
    let new = isOpen ? partitions.values.map(\.standing).min() ?? .upToDate : .bootstrapping
    guard new != standing else { return }
    standing = new
    for watcher in standingWatchers.values { watcher.yield(new) }
  }

  /// Waits until there is room, or something is asked.
  func waitForRoom() async {
    await withCheckedContinuation { continuation in
      withLock {
        let isFull = pausing.contains { subscribers[$0]?.mailbox.isFull == true }
        if isFull, request == .none { readerWaiter = continuation } else { continuation.resume() }
      }
    }
  }

  /// Ends all subscriptions, once they have taken what waits.
  func finish(_ end: End) {
    let watchers = withLock {
      self.end = end
      request = .stop
      for number in Array(subscribers.keys) {
        subscribers[number]?.waiter?.resume()
        subscribers[number]?.waiter = nil
      }
      defer { standingWatchers = [:] }
      return Array(standingWatchers.values)
    }
    // Not under the lock, which their ends take.
    for watcher in watchers { watcher.finish() }
  }
}
