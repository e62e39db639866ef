import Feed
import FeedClient
import Service

/// What an update of a feed means for the readers of its streams.
enum StreamStep: Sendable {
  /// A changeset, for each reader that has its base.
  case changeset(StreamedChangeset)
  /// The feed reached a version through changesets that were not reported individually. It includes everything before
  /// the offset.
  case jump(FeedVersion, position: Int64)
  /// A message for all readers. The feed's next changeset does not continue from earlier ones.
  case notice(EncodedEvent)
  /// The feed was deleted. If it exists again, its epoch; readers of that epoch are not concerned.
  case deletion(StreamedChangeset, reborn: String?)
  /// The next changeset does not continue from earlier ones. Readers are not told.
  case forget
  /// The feed is gone for an unknown reason: its streams end.
  case end
  /// Does not concern readers.
  case pass

  /// - Parameter current: the client's current description of the feed, which may be newer than the update.
  init(_ update: FeedUpdate, current: FeedDescription?) {
    switch update {
    case .changed(let changeset, _):
      self = Self.isServed(changeset.partition, current) ? .changeset(StreamedChangeset(changeset)) : .pass
    case .present(let content, _):
      let description = content.description
      self =
        Self.isServed(description.partition, current)
        ? .jump(FeedVersion(description), position: description.position) : .pass
    case .mustRefetch(let feed, let reason):
      // If the feed's reload has arrived meanwhile, it is the next update.
      let isOld = current.map { $0.standing == .mustRefetch } != false
      self = isOld ? .notice(StreamNotice.mustRefetch(ByteText(feed), reason: reason)) : .forget
    case .absent(_, let changeset?):
      self = StreamedChangeset(deletion: changeset).map { .deletion($0, reborn: current?.epoch) } ?? .end
    // The reason is unknown: the partition was revoked or recreated. A reader that reconnects starts with the current
    // state.
    case .absent(_, nil): self = .end
    }
  }

  /// If two partitions have the same id, the lower partition's feed is served.
  private static func isServed(_ partition: Int32, _ current: FeedDescription?) -> Bool {
    current.map { $0.partition < partition } != true
  }
}
