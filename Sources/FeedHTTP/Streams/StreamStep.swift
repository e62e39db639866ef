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

  /// - Parameter current: the client's current description of the feed, which may be newer than the update. Few updates need it.
  init(_ update: FeedUpdate, current: @autoclosure () -> FeedDescription?) {
    switch update {
    case .changed(let changeset, _):
      self = .changeset(StreamedChangeset(changeset))
    case .present(let content, _):
      self = .jump(FeedVersion(content.description), position: content.description.position)
    case .mustRefetch(_, _, let reason):
      // If the feed's reload has arrived meanwhile, it is the next update.
      let isOld = current().map { $0.standing == .mustRefetch } != false
      self = isOld ? .notice(StreamNotice.mustRefetch(update.address, reason: reason)) : .forget
    case .absent(_, _, let changeset?):
      guard let deletion = StreamedChangeset(deletion: changeset) else {
        self = .end
        return
      }
      self = .deletion(deletion, reborn: current()?.epoch)
    // The reason is unknown: the partition was revoked or recreated. A reader that reconnects starts with the current
    // state.
    case .absent(_, _, nil): self = .end
    }
  }
}
