import Feed
import FeedClient
import HTTP
import Synchronization

/// A changeset for streams: one message for each part.
struct StreamedChangeset: Sendable {
  /// The version to which it applies, for a window the oldest one, and the resulting version.
  let base: FeedVersion
  let version: FeedVersion
  /// Whether it can be applied to any state.
  let isReload: Bool
  /// Whether it deletes the feed in any state.
  var isDeletion = false
  /// Its offset in the changesets topic.
  let offset: Int64
  /// The values of the records; empty for a window.
  let values: [[UInt8]]
  var plan: ChangesetPlan?
  var window: WindowChangeset?
  private let messages = Messages()

  private final class Messages: Sendable {
    /// By the readers' revision, for a feed by 0.
    let encoded = Mutex<[UInt64: [EncodedEvent]]>([:])
    let lines = Mutex(Lines())
  }

  private struct Lines {
    /// As long as a response has them.
    weak var content: HTTPContent?
  }

  /// The maximum number of readers' revisions of a window with cached messages. Mostly there is only one.
  private static let mostEncoded = 8

  /// The approximate size in memory, in bytes.
  var byteCount: Int {
    // Values are stored twice: as received, and as encoded messages.
    values.reduce(plan == nil ? 200 : 200 + 2 * ChangesetPlan.greatestByteCount) { $0 + 2 * $1.count }
      + 2 * (window?.byteCount ?? 0)
  }
}

extension StreamedChangeset {
  /// The changeset of a window.
  init(_ window: WindowChangeset, of changeset: FeedChangeset) {
    let change = changeset.change
    self.init(
      base: FeedVersion(epoch: change.epoch, revision: window.since),
      version: FeedVersion(epoch: change.epoch, revision: change.revision),
      isReload: false,
      offset: changeset.offset,
      values: [],
      window: window
    )
  }

  init(_ changeset: FeedChangeset) {
    let change = changeset.change
    self.init(
      base: FeedVersion(epoch: change.epoch, revision: change.base),
      version: FeedVersion(epoch: change.epoch, revision: change.revision),
      isReload: change.mode == .reload,
      isDeletion: change.mode == .delete,
      offset: changeset.offset,
      values: changeset.values,
      plan: changeset.plan
    )
  }

  /// The member `window` of the changeset of a window.
  var totals: [UInt8]? { window?.totals }

  func continues(_ version: FeedVersion?) -> Bool {
    guard window != nil else { return base == version }
    guard let version, version.epoch == base.epoch else { return false }
    return base.revision <= version.revision && version.revision < self.version.revision
  }

  /// Whether a window's reader has it already, because its state was encoded later.
  func isIncluded(in version: FeedVersion?) -> Bool {
    guard window != nil, let version, version.epoch == base.epoch else { return false }
    return version.revision >= self.version.revision
  }

  /// The values as lines of JSON, which responses share.
  var lines: HTTPContent {
    messages.lines.withLock { lines in
      if let content = lines.content { return content }
      // Outside of strings, JSON may have line breaks.
      let content = HTTPContent(values.flatMap { $0.map { [0x0A, 0x0D].contains($0) ? 0x20 : $0 } + [0x0A] })
      lines.content = content
      return content
    }
  }

  /// The messages, encoded on first use. Only the last one has the id: a reader with only some parts resumes before all
  /// of them.
  ///
  /// - Parameter reader: the reader's version.
  func events(for reader: FeedVersion?) -> [EncodedEvent] {
    let revision = window == nil ? 0 : reader?.revision ?? 0
    return messages.encoded.withLock { encoded in
      if let events = encoded[revision] { return events }
      let texts = window.map { [$0.text(base: revision)] } ?? values
      var events = texts.enumerated().map { index, text in
        let isLast = index == texts.count - 1
        return EncodedEvent(id: isLast ? version.text : nil, data: text)
      }
      if let plan {
        let event = EncodedEvent(name: "plan", data: Array(plan.text.utf8))
        events.insert(event, at: 0)
      }
      if encoded.count < Self.mostEncoded { encoded[revision] = events }
      return events
    }
  }
}

/// The effect of a feed's update on the readers of its streams.
enum StreamStep: Sendable {
  /// A changeset for each reader with its base, and the changes of windows.
  case changeset(StreamedChangeset, windows: [FeedWindow: StreamedChangeset] = [:])
  /// The feed reached a version through changesets that were not reported. It includes everything before the offset.
  case jump(FeedVersion, position: Int64)
  /// A message for all readers. The feed's next changeset does not continue from earlier ones.
  case notice(EncodedEvent)
  /// The feed was deleted. If it was created again, its new epoch; readers of that epoch are not affected.
  case deletion(StreamedChangeset, reborn: String?)
  /// The next changeset does not continue from earlier ones. Readers receive no notice.
  case forget
  /// The feed disappeared for an unknown reason: its streams end.
  case end

  /// - Parameter current: the client's current description of the feed, which may be newer than the update. Few updates need it.
  init(_ update: FeedUpdate, current: @autoclosure () -> FeedDescription?) {
    switch update {
    case .changed(let changeset, _):
      self = .changeset(
        StreamedChangeset(changeset),
        windows: changeset.windows.mapValues { StreamedChangeset($0, of: changeset) }
      )
    case .present(let content, _):
      self = .jump(FeedVersion(content.description), position: content.description.position)
    case .mustRefetch(_, _, let reason):
      // If the feed's reload has already arrived, it is the next update.
      let isOld = current().map { $0.standing == .mustRefetch } != false
      self = isOld ? .notice(StreamNotice.mustRefetch(update.address.id, reason: reason)) : .forget
    case .absent(_, _, let changeset?):
      self = .deletion(StreamedChangeset(changeset), reborn: current()?.epoch)
    // The reason is unknown: the partition was revoked or recreated. A reader that reconnects starts with the current
    // state.
    case .absent(_, _, nil): self = .end
    }
  }
}
