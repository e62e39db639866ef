import Feed
import FeedClient
import Service

/// What an update of a feed means for the readers of its streams.
enum StreamStep: Sendable {
  /// A changeset, for each reader that has what it follows on.
  case changeset(StreamedChangeset)
  /// The feed came to a version by changesets that were not told one by one; all before the offset is in it.
  case jump(FeedVersion, position: Int64)
  /// A message after which the feed's next changeset is one that follows on nothing.
  case notice(EncodedEvent, Audience)
  /// What comes next follows on nothing; nobody need be told.
  case forget
  /// The feed is gone, it is not known why: its streams end.
  case end
  /// It concerns nobody.
  case pass

  /// Which readers of a feed a message is for.
  enum Audience: Sendable, Equatable {
    case all
    /// Those who have another epoch than this; nil is that of a reader that has nothing.
    case allBut(epoch: String?)

    func includes(_ version: FeedVersion?) -> Bool {
      switch self {
      case .all: true
      case .allBut(let epoch): version?.epoch != epoch
      }
    }
  }

  /// - Parameter current: what the client knows of the feed by now, which may be more than the update says.
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
      // If its reload has come meanwhile, that is the next update.
      let isOld = current.map { $0.standing == .mustRefetch } != false
      self = isOld ? .notice(StreamNotice.mustRefetch(ByteText(feed), reason: reason), .all) : .forget
    case .absent(_, let changeset?):
      self = .notice(ServerSentEvent(data: changeset).encoded(), .allBut(epoch: current?.epoch))
    // Why is not known: its partition went, or was made anew. Whoever comes again begins with what there is.
    case .absent(_, nil): self = .end
    }
  }

  /// Of an id that two partitions have, the lower partition's feed is served.
  private static func isServed(_ partition: Int32, _ current: FeedDescription?) -> Bool {
    current.map { $0.partition < partition } != true
  }
}
