public import Feed

/// What a subscriber is told of one feed. Updates of one feed come in order; each fits what was told before.
public enum FeedUpdate: Sendable {
  /// The feed as it is now, to be shown as a whole: at the beginning of a subscription, or instead of updates
  /// that were passed over.
  ///
  /// `passedOver` is how many updates of this subscription it stands for; 0 at the beginning.
  case present(FeedContent, passedOver: Int)

  /// The feed changed by one changeset; `change.mode` says how to apply it. The snapshot is the result; nil if
  /// the subscription is without snapshots.
  case changed(FeedChangeset, Snapshot?)

  /// Changesets of the feed were missed or do not fit, for the reason in words. What was told of it stays
  /// true but old, until a reload comes.
  case mustRefetch(feed: String, reason: String)

  /// There is no such feed: it was deleted, its partition is no longer followed, or a subscription that names
  /// it found none. `changeset` is the value of the record that deleted it, where it went by one.
  case absent(feed: String, changeset: [UInt8]?)

  /// The feed's id.
  public var feed: String {
    switch self {
    case .present(let content, _): content.description.feed
    case .changed(let changeset, _): changeset.change.feed
    case .mustRefetch(let feed, _), .absent(let feed, _): feed
    }
  }

  /// How to apply it; nil where nothing can be applied.
  public var mode: ChangesetMode? {
    switch self {
    case .present: .reload
    case .changed(let changeset, _): changeset.change.mode
    case .mustRefetch: nil
    case .absent: .delete
    }
  }

  /// What the feed is after it; nil if it is gone, unknown, or not wanted by the subscription.
  public var snapshot: Snapshot? {
    switch self {
    case .present(let content, _): content.snapshot
    case .changed(_, let snapshot): snapshot
    case .mustRefetch, .absent: nil
    }
  }
}
