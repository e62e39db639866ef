public import Feed

/// The updates of some feeds, or of all, as they arrive.
///
/// A subscription begins when it is created, with the state of the known feeds, and ends when its last copy and
/// iterator are released. It supports one iteration: several iterators share its updates. The sequence ends after the
/// pending updates when the client is stopped, and throws if the client fails.
public struct FeedUpdates: AsyncSequence, Sendable {
  public typealias Element = FeedUpdate
  public typealias Failure = FeedClientError

  let subscription: FeedSubscription

  /// An iterator over the pending updates.
  public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

  /// Iterates over the updates.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: FeedSubscription
    /// The last state of each feed. This is the only reference, unless the subscriber keeps a copy, so differences are
    /// applied in place.
    private var snapshots: [FeedAddress: Snapshot] = [:]
    /// The last content of each window, to which the texts of changesets are applied.
    private var windows: [FeedAddress: ShownFeed] = [:]

    init(subscription: FeedSubscription) { self.subscription = subscription }

    /// The next update; nil when the client was stopped or the task is cancelled.
    public mutating func next() async throws(FeedClientError) -> FeedUpdate? {
      try await next(isolation: nil)
    }

    /// The next update; nil when the client was stopped or the task is cancelled.
    ///
    /// - Parameter actor: the caller's actor, on which the iterator stays.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(FeedClientError) -> FeedUpdate? {
      while !Task.isCancelled {
        switch subscription.subscriptions.next(for: subscription.number) {
        case .update(let update):
          let isShown = subscription.options.window != nil
          if let completed = isShown ? shown(update) : completed(update) { return completed }
          subscription.subscriptions.passOver(update.address, for: subscription.number)
        case .ended(nil): return nil
        case .ended(let error?): throw error
        case .nothingYet: await subscription.subscriptions.wait(for: subscription.number)
        }
      }
      return nil
    }

    /// The update with the resulting snapshot; nil if the snapshot cannot apply it. Unlike a replica, a snapshot
    /// rejects a difference with two entries for one position.
    private mutating func completed(_ update: FeedUpdate) -> FeedUpdate? {
      guard subscription.options.hasSnapshots else { return update }
      let feed = update.address
      switch update {
      case .present, .changed(_, .some): snapshots[feed] = update.snapshot
      case .absent: snapshots[feed] = nil
      case .mustRefetch: break
      case .changed(let changeset, nil):
        guard let difference = changeset.change.difference, apply(difference, to: feed) else { return nil }
        return .changed(changeset, snapshots[feed])
      }
      return update
    }

    /// The update for the window; nil if it needs the state.
    private mutating func shown(_ update: FeedUpdate) -> FeedUpdate? {
      let feed = update.address
      switch update {
      case .present(let content, let passedOver):
        let shown = ShownFeed(content)
        windows[feed] = shown
        return .present(shown.content, passedOver: passedOver)
      case .changed(let changeset, _):
        guard let window = subscription.options.window, let change = changeset.windows[window],
          let (own, snapshot) = windows[feed]?.apply(change, changeset)
        else { return nil }
        return .changed(own, snapshot)
      case .mustRefetch: return update
      case .absent:
        windows[feed] = nil
        return update
      }
    }

    private mutating func apply(_ difference: SnapshotDifference, to feed: FeedAddress) -> Bool {
      do throws(SnapshotError) {
        // In place: a local copy would be a second reference, and the whole content would be copied.
        try snapshots[feed]?.apply(difference)
        return snapshots[feed] != nil
      } catch {
        return false
      }
    }
  }
}

/// A feed's content in a window, to which the texts of changesets are applied.
struct ShownFeed {
  /// The first content.
  let content: FeedContent
  private let replicas = ReplicaPartition()
  private let replica: Replica

  /// - Parameter content: only its document is used.
  init(_ content: FeedContent) {
    let document = content.reloadDocument()
    let feed = content.description.feed
    guard Self.apply(document, keyed: "k0/" + feed, to: replicas) != nil,
      let replica = replicas.replica(of: feed)
    else { preconditionFailure("the state of a window is not a changeset") }
    self.replica = replica
    self.content = FeedContent(
      description: content.description,
      snapshot: replica.snapshot(),
      document: document
    )
  }

  /// - Returns: the changeset for this reader, and its result; nil if it does not apply.
  func apply(_ change: WindowChangeset, _ changeset: FeedChangeset) -> (FeedChangeset, Snapshot)? {
    guard change.since <= replica.revision else { return nil }
    let text = change.text(base: replica.revision)
    return Self.apply(text, keyed: "d1/" + replica.feed, to: replicas).map {
      let (partition, offset) = (changeset.partition, changeset.offset)
      return (
        FeedChangeset(change: $0, values: [text], partition: partition, offset: offset), replica.snapshot()
      )
    }
  }

  private static func apply(
    _ text: [UInt8],
    keyed key: String,
    to replicas: ReplicaPartition
  ) -> ReplicaChange? {
    let outcome = ByteText(key).withBytes { key in
      text.withUnsafeBytes { value in try? replicas.apply(key: key, value: ByteSpan(value)) }
    }
    guard case .applied(let change)? = outcome else { return nil }
    return change
  }
}

/// A registration, which ends when its last reference is released.
final class FeedSubscription: Sendable {
  let subscriptions: Subscriptions
  let number: Int
  let options: SubscriptionOptions

  init(_ subscriptions: Subscriptions, feeds: [String]?, _ options: SubscriptionOptions) {
    self.subscriptions = subscriptions
    self.options = options
    number = subscriptions.subscribe(to: feeds.map { Set($0.map { ByteText($0) }) }, options)
  }

  deinit { subscriptions.unsubscribe(number) }
}

/// An update of one feed for a subscriber. Updates of a feed arrive in order, and each continues from the previous one.
/// The same id in two partitions denotes two feeds: ``partition`` distinguishes them.
public enum FeedUpdate: Sendable {
  /// The whole feed: at the beginning of a subscription, or in place of updates that a slow subscriber missed.
  ///
  /// `passedOver` is the number of updates that it replaces; 0 at the beginning.
  case present(FeedContent, passedOver: Int)

  /// The feed changed by one changeset; `change.mode` determines how to apply it. The snapshot is the result, or nil
  /// if the subscription has no snapshots.
  case changed(FeedChangeset, Snapshot?)

  /// Changesets of the feed were missed or do not apply; `reason` describes the cause. The content delivered so far is
  /// outdated until a reload arrives.
  case mustRefetch(feed: String, partition: Int32, reason: String)

  /// The feed does not exist: it was deleted, its partition is no longer followed, or a subscription requested an
  /// unknown feed, which has no partition. `changeset` is the one that deleted it, if there was one.
  case absent(feed: String, partition: Int32?, changeset: FeedChangeset?)

  /// The feed's id.
  public var feed: String {
    switch self {
    case .present(let content, _): content.description.feed
    case .changed(let changeset, _): changeset.change.feed
    case .mustRefetch(let feed, _, _), .absent(let feed, _, _): feed
    }
  }

  /// The current or former partition of the feed in the changesets topic; nil if it is in none.
  public var partition: Int32? {
    switch self {
    case .present(let content, _): content.description.partition
    case .changed(let changeset, _): changeset.partition
    case .mustRefetch(_, let partition, _): partition
    case .absent(_, let partition, _): partition
    }
  }

  /// The feed's partition and id.
  package var address: FeedAddress { FeedAddress(partition, ByteText(feed)) }

  /// The feed after the update; nil if it was deleted, is unknown, or the subscription has no snapshots.
  public var snapshot: Snapshot? {
    switch self {
    case .present(let content, _): content.snapshot
    case .changed(_, let snapshot): snapshot
    case .mustRefetch, .absent: nil
    }
  }
}

/// How updates reach a subscriber, and the policy if it is slow.
public struct SubscriptionOptions: Sendable, Equatable {
  /// The policy for a full queue.
  public enum SlowPolicy: Sendable, Equatable {
    /// The client stops reading, for all subscribers, until the subscriber has taken an update. It receives every
    /// changeset. For a process that exists for a single subscriber.
    case pausesReading
    /// The client continues reading. When a feed changes again, its queued updates are dropped, and the subscriber
    /// receives its newest state once: `present`. For many subscribers, such as the clients of a server.
    case coalesces
  }

  /// The policy for a full queue.
  public var slowPolicy: SlowPolicy
  /// The maximum number of queued updates.
  public var maximumUpdates: Int
  /// The maximum size of queued changesets, in bytes of their values. A larger changeset is queued alone.
  public var maximumBytes: Int
  /// Whether updates include the resulting snapshot. The subscription then keeps a copy of each feed that changes. An
  /// update costs time in proportion to its changes, or O(n) if the previous snapshot is still held.
  public var hasSnapshots: Bool
  /// Whether changesets include their difference, decoded. Decoding copies every entry. Snapshots need it, so it is always
  /// present if `hasSnapshots` is true.
  public var hasDifferences: Bool
  var needsDifferences: Bool { window == nil && (hasDifferences || hasSnapshots) }
  /// Whether to deliver every changeset that is still in the topic, instead of the state at the beginning. Use it
  /// only for a subscription that is created before the client runs.
  public var beginsWithHistory: Bool
  /// The window of its feeds; nil for everything.
  var window: FeedWindow?

  /// Creates options; by default a slow subscriber does not delay others.
  public init(
    slowPolicy: SlowPolicy = .coalesces,
    maximumUpdates: Int = 256,
    maximumBytes: Int = 16 << 20,
    hasSnapshots: Bool = true,
    hasDifferences: Bool = true,
    beginsWithHistory: Bool = false
  ) {
    self.slowPolicy = slowPolicy
    self.maximumUpdates = max(1, maximumUpdates)
    self.maximumBytes = max(1, maximumBytes)
    self.hasSnapshots = hasSnapshots
    self.hasDifferences = hasDifferences
    self.beginsWithHistory = beginsWithHistory
  }
}
