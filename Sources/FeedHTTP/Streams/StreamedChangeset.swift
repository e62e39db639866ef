import Feed
import FeedClient
import Service
import Synchronization

/// A changeset for streams: one message for each of its parts.
final class StreamedChangeset: Sendable {
  /// The version that it applies to, and the resulting version.
  let base: FeedVersion
  let version: FeedVersion
  /// Whether it can be applied to any state.
  let isReload: Bool
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
    offset: Int64,
    values: [[UInt8]],
    plan: ChangesetPlan? = nil
  ) {
    self.base = base
    self.version = version
    self.isReload = isReload
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
