import Feed
import FeedClient
import FoundationEssentials
import Service
import Synchronization

/// A changeset for streams: one message for each of its parts.
final class StreamedChangeset: Sendable {
  /// The version that it applies to, and the resulting version.
  let base: FeedVersion
  let version: FeedVersion
  /// Whether it can be applied to any state.
  let isReload: Bool
  /// Whether it deletes the feed, whatever its state is.
  let isDeletion: Bool
  /// Its offset in the changesets topic.
  let offset: Int64
  /// The approximate size in memory, in bytes.
  let byteCount: Int
  private let values: [[UInt8]]
  private let plan: ChangesetPlan?
  private let encoded = Mutex<[EncodedEvent]?>(nil)

  init(
    base: FeedVersion,
    version: FeedVersion,
    isReload: Bool,
    isDeletion: Bool = false,
    offset: Int64,
    values: [[UInt8]],
    plan: ChangesetPlan? = nil
  ) {
    self.base = base
    self.version = version
    self.isReload = isReload
    self.isDeletion = isDeletion
    self.offset = offset
    self.plan = plan
    self.values = values
    // The values are held twice: as received, and as encoded messages.
    byteCount = values.reduce(plan == nil ? 200 : 200 + 2 * ChangesetPlan.greatestByteCount) {
      $0 + 2 * $1.count
    }
  }

  convenience init(_ changeset: FeedChangeset) {
    let change = changeset.change
    self.init(
      base: FeedVersion(epoch: change.epoch, revision: change.base),
      version: FeedVersion(epoch: change.epoch, revision: change.revision),
      isReload: change.mode == .reload,
      offset: changeset.offset,
      values: changeset.values,
      plan: changeset.plan
    )
  }

  /// - Parameter value: the value of a record of mode `delete`, whose offset is not known.
  convenience init?(deletion value: [UInt8]) {
    struct Head: Decodable {
      let epoch: String
      let revision: UInt64
      let base: UInt64
    }
    guard let head = try? JSONDecoder().decode(Head.self, from: Data(value)) else { return nil }
    self.init(
      base: FeedVersion(epoch: head.epoch, revision: head.base),
      version: FeedVersion(epoch: head.epoch, revision: head.revision),
      isReload: false,
      isDeletion: true,
      offset: .max,
      values: [value]
    )
  }

  /// The messages, encoded on first use. Only the last one has the id: a reader that saw only some parts resumes before
  /// all of them.
  var events: [EncodedEvent] {
    encoded.withLock { encoded in
      if let encoded { return encoded }
      var events = values.enumerated().map { index, value in
        let isLast = index == values.count - 1
        return ServerSentEvent(id: isLast ? version.text : nil, data: value).encoded()
      }
      if let plan {
        let event = ServerSentEvent(name: "plan", data: Array(plan.text.utf8)).encoded()
        events.insert(event, at: 0)
      }
      encoded = events
      return events
    }
  }
}

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

  /// Whether readers are to be told again when they are up to date.
  var needsNotice: Bool {
    switch self {
    case .changeset(let changeset): changeset.isReload
    case .deletion: true
    case .jump, .notice, .forget, .end: false
    }
  }

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
