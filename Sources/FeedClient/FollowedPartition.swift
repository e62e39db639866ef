import Changesets
import Feed

/// A partition that a client follows: a ``ReadPartition``, and the updates for subscribers.
final class FollowedPartition {
  let read: ReadPartition
  /// The feeds to follow; nil for all. Records of other feeds are skipped without decoding.
  private let kept: Set<ByteText>?
  /// Whether the partition has been read to its end once, so that its feeds are known.
  private(set) var isBootstrapped = false
  /// The parts received so far of incomplete changesets, and the plans in the headers of their first parts.
  private var parts: [ByteText: (values: [[UInt8]], plan: ChangesetPlan?)] = [:]
  /// How the latest changeset of each feed was published. Kept only if feeds are followed by name.
  private var lastChangesets: [ByteText: LastChangeset] = [:]
  /// The open windows of feeds that have changed since.
  private var windows: [ByteText: OpenWindows] = [:]
  /// Records that were read, and bytes of their keys and values.
  private var records = 0
  private var recordBytes = 0

  /// The effect of a record on a feed's subscribers.
  struct News {
    let feed: ByteText
    /// Nil if the feed changed, but the change was not kept.
    var update: FeedUpdate?
    var byteCount = 0
    /// Whether the feed may have been created, or was removed.
    var isOfExistence = false
  }

  init(_ read: ReadPartition, keeping kept: Set<ByteText>? = nil) {
    self.read = read
    self.kept = kept
  }

  var number: Int32 { read.number }
  /// All records before this offset were read.
  var position: Int64 { read.position }
  var standing: FeedStanding { !isBootstrapped ? .bootstrapping : read.isAtEnd ? .upToDate : .catchingUp }

  // MARK: Reading

  /// Applies the next record.
  ///
  /// - Parameters:
  ///   - keepsChanges: whether to return the change, because a subscriber needs it.
  ///   - describesChanges: whether the change contains its difference, which copies every entry.
  ///   - openWindows: the open windows, by feed.
  ///   - plan: decodes the plan from the record's headers. It is called only if the plan is used.
  /// - Returns: the effect, and a fault if the record is not valid on a changesets topic.
  func take(
    offset: Int64,
    key: ByteSpan,
    value: ByteSpan?,
    keepsChanges: Bool,
    describesChanges: Bool,
    openWindows: [ByteText: [FeedWindow: Int]] = [:],
    plan: () -> ChangesetPlan? = { nil }
  ) -> (news: News?, fault: ReplicaFault?) {
    records += 1
    recordBytes += key.count + (value?.count ?? 0)
    let feed = RecordKey(key).map { ByteText($0.feed) }
    if let feed, kept?.contains(feed) == false {
      read.pass(offset)
      return (nil, nil)
    }
    read.replicas.describesChanges = describesChanges
    read.replicas.windows = feed.flatMap { id in openWindows[id].flatMap { windows(of: id, $0.keys) } }
    do throws(ReplicaFault) {
      let outcome = try read.apply(offset: offset, key: key, value: value)
      guard let feed else { return (nil, nil) }
      let news = news(of: feed, outcome, value, plan, keepsChanges: keepsChanges)
      return (news ?? loss(of: feed), nil)
    } catch {
      if let feed { parts[feed] = nil }
      return (feed.flatMap(loss), error)
    }
  }

  private func news(
    of feed: ByteText,
    _ outcome: ReplicaOutcome,
    _ value: ByteSpan?,
    _ plan: () -> ChangesetPlan?,
    keepsChanges: Bool
  ) -> News? {
    let isPlanUsed = keepsChanges || kept != nil
    switch outcome {
    case .applied(let change):
      // Only the first part of a changeset carries the plan.
      let plan = parts[feed]?.plan ?? (isPlanUsed ? plan() : nil)
      if kept != nil {
        lastChangesets[feed] = LastChangeset(mode: change.mode, reason: change.reason, plan: plan)
      }
      return applied(change, feed, value, plan, keepsChanges: keepsChanges)
    case .removed(_, let change):
      parts[feed] = nil
      lastChangesets[feed] = nil
      windows[feed] = nil
      let changeset = change.map { change in
        let values = value.map { [Array($0.buffer)] } ?? []
        return FeedChangeset(change: change, values: values, partition: number, offset: position - 1)
      }
      return News(
        feed: feed,
        update: .absent(feed: feed.string, partition: number, changeset: changeset),
        byteCount: change?.byteCount ?? 0,
        isOfExistence: true
      )
    case .skipped: return nil
    case .waitingForParts(let received, _):
      if received == 1 { parts[feed] = ([], isPlanUsed ? plan() : nil) }
      if keepsChanges, let value { parts[feed]?.values.append(Array(value.buffer)) }
      return nil
    case .gap, .otherEpoch, .mismatch:
      parts[feed] = nil
      return nil
    }
  }

  /// The effect of a last record that made a feed stale.
  private func loss(of feed: ByteText) -> News? {
    guard read.replicas.hasBecomeStale, let reason = reasonForLoss(of: feed) else { return nil }
    return News(feed: feed, update: .mustRefetch(feed: feed.string, partition: number, reason: reason))
  }

  private func applied(
    _ change: ReplicaChange,
    _ feed: ByteText,
    _ value: ByteSpan?,
    _ plan: ChangesetPlan?,
    keepsChanges: Bool
  ) -> News {
    var news = News(feed: feed, isOfExistence: change.mode == .reload)
    let earlier = parts.removeValue(forKey: feed)?.values ?? []
    guard keepsChanges, let value else { return news }
    // Parts of a changeset that was never completed do not belong to this one.
    let values = (value.count == change.byteCount ? [] : earlier) + [Array(value.buffer)]
    guard values.reduce(0, { $0 + $1.count }) == change.byteCount else { return news }
    var changeset = FeedChangeset(
      change: change,
      values: values,
      plan: plan,
      partition: number,
      offset: position - 1
    )
    if change.mode != .reload, let windows = read.replicas.windows { changeset.windows = windows.changes }
    // A subscriber can compute the result of a difference from its own copy, but not a reload's.
    news.update = .changed(changeset, change.mode == .reload ? content(of: feed)?.snapshot : nil)
    news.byteCount = change.byteCount
    return news
  }

  // MARK: Windows

  /// The progress of a feed's open windows; nil if the feed does not exist yet.
  private func windows(
    of feed: ByteText,
    _ open: Dictionary<FeedWindow, Int>.Keys
  ) -> OpenWindows? {
    guard let replica = read.replicas.replica(of: feed.string) else { return nil }
    let windows = windows[feed] ?? OpenWindows()
    self.windows[feed] = windows
    // Closed windows are forgotten at once.
    if windows.count < open.count { for window in open { windows.open(window, at: replica.revision) } }
    return windows
  }

  /// Discards the progress of a closed window.
  func close(_ window: FeedWindow, of feed: ByteText) { windows[feed]?.close(window) }

  /// The standing of a view; nil if the feed does not exist.
  func standing(of view: ViewAddress, withTotals: Bool) -> ViewStanding? {
    let feed = view.feed.id
    guard let replica = read.replicas.replica(of: feed.string), let description = description(replica) else {
      return nil
    }
    return ViewStanding(
      description: description,
      since: view.window.flatMap { windows[feed]?.since($0) } ?? replica.revision,
      totals: withTotals ? view.window.map { replica.totals(of: $0) } : nil
    )
  }

  /// Records that the partition was read to its end.
  ///
  /// - Returns: whether this is the first time.
  func noteEnd(at offset: Int64) -> Bool {
    read.reachEnd(at: offset)
    defer { isBootstrapped = true }
    return !isBootstrapped
  }

  // MARK: Feeds

  /// All feeds that exist or are stale.
  var feeds: [ByteText] { read.replicas.knownFeeds }

  /// Why a feed cannot be followed until its next reload; nil if it can.
  func reasonForLoss(of feed: ByteText) -> String? { read.replicas.staleReason(of: feed) }

  var lossesWithoutContent: [FeedUpdate] {
    read.replicas.staleFeedsWithoutReplica.map {
      .mustRefetch(feed: $0.feed.string, partition: number, reason: $0.reason)
    }
  }

  func hasReplica(of feed: ByteText) -> Bool { read.replicas.replica(of: feed.string) != nil }

  /// The current content of a feed; nil if it does not exist.
  func content(of feed: ByteText) -> FeedContent? { read.replicas.replica(of: feed.string).flatMap(content) }

  /// The feeds, sorted by the bytes of their ids.
  var descriptions: [FeedDescription] { read.replicas.replicas.compactMap(description) }

  /// The feeds with their contents, sorted by the bytes of their ids.
  var contents: [FeedContent] { read.replicas.replicas.compactMap(content) }

  private func content(_ replica: Replica) -> FeedContent? {
    description(replica).map { FeedContent(description: $0, snapshot: replica.snapshot()) }
  }

  func description(of feed: ByteText) -> FeedDescription? {
    read.replicas.replica(of: feed.string).flatMap(description)
  }

  private func description(_ replica: Replica) -> FeedDescription? {
    guard let version = read.replicas.version(of: replica.feed) else { return nil }
    let feed = ByteText(replica.feed)
    let outdated = reasonForLoss(of: feed)
    return FeedDescription(
      feed: replica.feed,
      partition: number,
      position: position,
      version: version,
      timeMilliseconds: replica.timeMilliseconds,
      sectionCount: replica.sectionCount,
      itemCount: replica.itemCount,
      checksum: replica.checksum,
      standing: outdated == nil ? standing : .mustRefetch,
      outdated: outdated,
      lastChangeset: lastChangesets[feed]
    )
  }

  // MARK: Handover

  /// Whether a store can continue from the feeds: they are complete, and no record was damaged.
  var isShareable: Bool { kept == nil && read.damage == nil }

  var progress: PartitionProgress {
    PartitionProgress(
      number: number,
      position: position,
      standing: standing,
      stateBytes: read.stateBytes,
      records: records,
      recordBytes: recordBytes,
      damage: read.damage.map { "\(read.place(at: $0.offset)): \($0.fault.message)" }
    )
  }
}

/// The progress in a partition, and its cost.
package struct PartitionProgress: Sendable, Equatable {
  package let number: Int32
  /// All records before this offset were read.
  package let position: Int64
  package let standing: FeedStanding
  /// The size of the feeds' state in bytes, by the formula of `StateSize`.
  package let stateBytes: Int
  /// Records that were read since the client began to follow the partition, and bytes of their keys and values.
  package let records: Int
  package let recordBytes: Int
  /// Why a store cannot continue from the feeds: the first record that is malformed or does not apply.
  package let damage: String?
  /// The end of the partition, as a broker last reported it; nil before that.
  package var knownEnd: Int64?
}
