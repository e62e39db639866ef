package import Changesets
import Feed

/// Operations of the reading thread, and of workers that exchange partitions with it.
extension Subscriptions {
  /// The result of taking a record.
  enum Taken: Sendable {
    case taken
    /// The record is not a valid record of a changesets topic.
    case unreadable(ReplicaFault)
    /// A subscriber that pauses reading has a full queue. The record was not applied; pass it again later.
    case noRoom
  }

  /// Returns the pending request and clears it. After a request to follow, the reader is responsible for it.
  func takeRequest() -> Request {
    locked {
      defer { if request != .stop { request = .none } }
      return request
    }
  }

  var hasRequest: Bool { locked { request != .none } }

  // MARK: Partitions

  /// The followed partitions and their positions.
  var positions: [Int32: Int64] { locked { followed.mapValues(\.position) } }

  /// Follows exactly these partitions. Partitions that were already followed keep their positions.
  ///
  /// - Parameters:
  ///   - beginnings: the first offsets of newly followed partitions.
  ///   - ends: their ends; a worker's replicas are used only if their position lies between.
  func open(_ numbers: Set<Int32>, beginnings: [Int32: Int64], ends: [Int32: Int64] = [:]) {
    locked {
      let gone = followed.keys.filter { !numbers.contains($0) }.sorted()
      let dropped = Set(gone.flatMap { drop($0) })
      for number in numbers.sorted() where followed[number] == nil {
        let beginning = beginnings[number] ?? 0
        var read = ReadPartition(topic, number, from: beginning)
        if let adopted = adopted.removeValue(forKey: number), adopted.position >= beginning,
          adopted.position <= ends[number] ?? -1
        {
          read = adopted
        }
        followed[number] = FollowedPartition(read, keeping: kept)
      }
      isOpen = true
      deliverAbsentFeeds(except: dropped)
      computeStanding()
    }
  }

  /// Drops a partition and reports its feeds as absent.
  ///
  /// - Returns: its feeds.
  @discardableResult
  private func drop(_ number: Int32) -> [ByteText] {
    guard let partition = followed.removeValue(forKey: number) else { return [] }
    sharedIDs.remove(number)
    for feed in partition.feeds {
      forEachListener(to: feed) { $0.mailbox.addNewest(FeedAddress(number, feed)) }
    }
    return partition.feeds
  }

  // MARK: Handover

  /// The current feeds of a partition, which stay here; nil if it is not followed, or a store cannot continue from them.
  package func share(_ number: Int32) -> sending ReadPartition? {
    let shared: (position: Int64, feeds: SharedFeeds)? = locked {
      guard let partition = followed[number], partition.isShareable else { return nil }
      let feeds = partition.read.replicas.share(isLocked: true) { body in self.locked { body() } }
      return (partition.position, feeds)
    }
    return shared.map {
      ReadPartition(
        topic,
        number,
        continuing: ReplicaPartition(sharing: $0.feeds, isLocked: false),
        from: $0.position
      )
    }
  }

  /// Removes and returns a partition; nil if a store cannot continue from it.
  package func takeOut(_ number: Int32) -> sending ReadPartition? {
    // No other reference exists.
    nonisolated(unsafe) var taken: ReadPartition?
    locked {
      taken = adopted.removeValue(forKey: number)
      guard let partition = followed[number] else { return }
      taken = partition.isShareable ? partition.read : nil
      drop(number)
      computeStanding()
    }
    return taken
  }

  /// Keeps a worker's replicas of a partition, in case the partition is followed next; nil to discard them.
  package func adopt(_ partition: sending ReadPartition?, of number: Int32) {
    nonisolated(unsafe) let partition = partition
    locked { adopted[number] = followed[number] == nil ? partition : nil }
  }

  /// Keeps a copy of a worker's replicas of a partition. The worker may continue to use them.
  package func adopt(copying partition: ReadPartition) {
    if locked({ followed[partition.number] != nil }) { return }
    let shared = partition.replicas.share(isLocked: false) { body in self.locked { body() } }
    adopt(
      ReadPartition(
        topic,
        partition.number,
        continuing: ReplicaPartition(sharing: shared, isLocked: true),
        from: partition.position
      ),
      of: partition.number
    )
  }

  /// The progress of each followed partition, sorted by number.
  var progress: [PartitionProgress] {
    locked { followed.values.map(\.progress) }.sorted { $0.number < $1.number }
  }

  // MARK: Records

  /// Applies a record of a partition. Records of partitions that are not followed are ignored.
  ///
  /// - Parameter plan: decodes the plan from the record's headers. It is called only if the plan is used.
  func take(
    _ number: Int32,
    offset: Int64,
    key: ByteSpan,
    value: ByteSpan?,
    plan: () -> ChangesetPlan? = { nil }
  ) -> Taken {
    locked {
      guard var partition = followed[number] else { return .taken }
      if isFull { return .noRoom }
      if offset < partition.position {
        // The topic was recreated or truncated, and has lost the state.
        drop(number)
        partition = FollowedPartition(ReadPartition(topic, number, from: offset), keeping: kept)
        followed[number] = partition
      }
      let keepsChanges = partition.isBootstrapped ? !subscribers.isEmpty : historyCount > 0
      let (news, fault) = partition.take(
        offset: offset,
        key: key,
        value: value,
        keepsChanges: keepsChanges,
        describesChanges: keepsChanges && differenceCount > 0,
        openWindows: partition.isBootstrapped ? openWindows : [:],
        plan: plan
      )
      if let news { deliver(news, of: partition) }
      return fault.map { .unreadable($0) } ?? .taken
    }
  }

  /// Records that the reader reached the end of a partition.
  func noteEnd(_ number: Int32, offset: Int64) {
    locked {
      guard let partition = followed[number], partition.noteEnd(at: offset) else { return }
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
  }

  /// Once all partitions are known, reports `absent` to subscribers that requested a feed that does not exist.
  ///
  /// - Parameter reported: feeds that were just reported.
  private func deliverAbsentFeeds(except reported: Set<ByteText> = []) {
    guard areKnown else { return }
    for feed in listeners.keys where !isKnown(feed) && !reported.contains(feed) {
      forEachListener(to: feed, byName: true) { $0.mailbox.addNewest(FeedAddress(nil, feed)) }
    }
  }

  /// Searches all partitions that have been read to their ends for a feed that was created or deleted. Before that, a feed may
  /// be outdated. O(p) for p partitions.
  private func noteSharedID(_ feed: ByteText) {
    guard followed.count > 1 else { return }
    let numbers = followed.values.filter { $0.isBootstrapped && $0.hasReplica(of: feed) }.map(\.number)
    sharedIDs.note(feed, in: numbers)
  }

  private func deliver(_ news: FollowedPartition.News, of partition: FollowedPartition) {
    let address = FeedAddress(partition.number, news.feed)
    if partition.isBootstrapped {
      if news.isOfExistence { noteSharedID(news.feed) }
    } else {
      // Before the end of the partition, a later reload replaces what compaction removed.
      if case .mustRefetch? = news.update { return }
      guard historyCount > 0 else { return }
    }
    forEachListener(to: news.feed) { subscriber in
      let options = subscriber.mailbox.options
      guard partition.isBootstrapped || options.beginsWithHistory else { return }
      switch news.update {
      case nil: subscriber.mailbox.addNewest(address)
      case .changed(let changeset, _)? where options.window != nil:
        if changeset.change.mode == .reload {
          subscriber.mailbox.addNewest(address)
        } else if let change = options.window.flatMap({ changeset.windows[$0] }) {
          subscriber.mailbox.add(.changed(changeset, nil), of: address, byteCount: change.byteCount)
        }
      case .changed(let changeset, _)? where !options.hasSnapshots:
        subscriber.mailbox.add(.changed(changeset, nil), of: address, byteCount: news.byteCount)
      case let update?: subscriber.mailbox.add(update, of: address, byteCount: news.byteCount)
      }
    }
  }

  /// Updates each subscriber of a feed, then wakes those with pending updates.
  ///
  /// - Parameter byName: whether to skip subscribers of all feeds.
  private func forEachListener(
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
  func updateStanding() { locked { computeStanding() } }

  private func computeStanding() {
    let new = isOpen ? followed.values.map(\.standing).min() ?? .upToDate : .bootstrapping
    guard new != currentStanding else { return }
    currentStanding = new
    for watcher in standingWatchers.values { watcher.yield(new) }
  }

  /// Whether the queue of a subscriber with the policy `pausesReading` is full.
  var isFull: Bool { pausing.contains { subscribers[$0]?.mailbox.isFull == true } }

  /// Ends all subscriptions after their pending updates.
  func finish(_ end: End) {
    let watchers = locked {
      self.end = end
      request = .stop
      for number in Array(subscribers.keys) { wake(number) }
      defer { standingWatchers = [:] }
      return Array(standingWatchers.values)
    }
    // Outside the lock, because their termination handlers take it.
    for watcher in watchers { watcher.finish() }
  }
}
