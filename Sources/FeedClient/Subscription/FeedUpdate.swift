public import Feed

/// An update of one feed for a subscriber. Updates of a feed arrive in order, and each continues from the previous one.
/// The same id in two partitions denotes two feeds: tell them apart by ``partition``.
public enum FeedUpdate: Sendable {
  /// The whole feed: at the beginning of a subscription, or in place of updates that a slow subscriber missed.
  ///
  /// `passedOver` is the number of updates that it replaces; 0 at the beginning.
  case present(FeedContent, passedOver: Int)

  /// The feed changed by one changeset; `change.mode` says how to apply it. The snapshot is the result, or nil if the
  /// subscription has no snapshots.
  case changed(FeedChangeset, Snapshot?)

  /// Changesets of the feed were missed or do not fit; `reason` describes it. The content delivered so far is outdated
  /// until a reload arrives.
  case mustRefetch(feed: String, partition: Int32, reason: String)

  /// The feed does not exist: it was deleted, its partition is no longer followed, or a subscription requested an
  /// unknown feed, which has no partition. `changeset` is the value of the record that deleted it, if there was one.
  case absent(feed: String, partition: Int32?, changeset: [UInt8]?)

  /// The feed's id.
  public var feed: String {
    switch self {
    case .present(let content, _): content.description.feed
    case .changed(let changeset, _): changeset.change.feed
    case .mustRefetch(let feed, _, _), .absent(let feed, _, _): feed
    }
  }

  /// The partition of the changesets topic that the feed is in, or was in; nil if no partition has it.
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

  /// The changeset's mode; nil if there is no changeset to apply.
  public var mode: ChangesetMode? {
    switch self {
    case .present: .reload
    case .changed(let changeset, _): changeset.change.mode
    case .mustRefetch: nil
    case .absent: .delete
    }
  }

  /// The feed after the update; nil if it was deleted, is not known, or the subscription has no snapshots.
  public var snapshot: Snapshot? {
    switch self {
    case .present(let content, _): content.snapshot
    case .changed(_, let snapshot): snapshot
    case .mustRefetch, .absent: nil
    }
  }
}
