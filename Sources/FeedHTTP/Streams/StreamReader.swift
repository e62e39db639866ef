import Feed
import FeedClient
import HTTP

/// One reader of a view, and its progress.
struct StreamReader: Sendable {
  private let stream: EventStream
  /// The name of the view, for each message.
  private let tag: [UInt8]
  /// The version of its last message; nil before that, and after that version became invalid.
  private(set) var version: FeedVersion?
  /// Changesets before this offset are skipped.
  private(set) var position: Int64 = 0
  /// Whether its next message must be the view's state.
  private(set) var isLagging = true
  /// Whether its version is a deletion.
  private(set) var isAtDeletion = false

  init(_ stream: EventStream, tag: [UInt8] = [], version: FeedVersion? = nil) {
    self.stream = stream
    self.tag = tag
    self.version = version
  }

  /// Continues from the reader's version.
  ///
  /// - Parameters:
  ///   - position: the offset before which the reader receives only missed changesets.
  ///   - missed: the changesets to send first.
  ///   - isAtDeletion: whether its version is a deletion.
  mutating func resume(
    after version: FeedVersion,
    position: Int64,
    missed: [StreamedChangeset],
    isAtDeletion: Bool = false
  ) {
    self.version = version
    self.position = 0
    self.isAtDeletion = isAtDeletion
    isLagging = false
    for changeset in missed { take(changeset) }
    self.position = position
  }

  /// Queues a changeset, unless the reader has it. If the queue is full, or an earlier changeset is missing, the reader
  /// lags from then on.
  mutating func take(_ changeset: StreamedChangeset) {
    guard !isLagging, changeset.offset >= position, !changeset.isIncluded(in: version) else { return }
    guard changeset.isReload || changeset.isDeletion || changeset.continues(version) else {
      isLagging = true
      return
    }
    let events = changeset.events(for: version)
    version = changeset.version
    isAtDeletion = changeset.isDeletion
    write(events)
  }

  private mutating func write(_ events: [EncodedEvent]) {
    let events = tag.isEmpty ? events : events.map { $0.tagged(tag) }
    guard stream.write(events) == .full else { return }
    isLagging = true
    // The client may have received a part of the changeset.
    version = nil
  }

  /// Sends the view's state and the changesets after it.
  ///
  /// - Parameter position: the offset before which the state includes all changesets.
  mutating func take(_ reload: FeedReload, position: Int64, missed: [StreamedChangeset]) {
    stream.writeExempt(reload.event(for: stream).tagged(tag))
    resume(after: reload.version, position: position, missed: missed)
  }

  /// Moves to a version without individual changesets. A reader that does not have the version lags from then on.
  mutating func jump(to version: FeedVersion, position: Int64) {
    guard !isLagging else { return }
    if self.version == version { self.position = position } else { isLagging = true }
  }

  /// Makes the reader lag, unless its state already includes the offset.
  mutating func lag(unlessBefore offset: Int64) { if offset >= position { isLagging = true } }

  /// Sends a message that is not a changeset.
  mutating func notify(_ event: EncodedEvent) { if !isLagging { write([event]) } }

  /// Sends a message without a limit: at most one follows each limited message.
  func tell(_ event: EncodedEvent) { _ = stream.write(event.tagged(tag), isBounded: false) }

  /// Waits for the feed's next reload, because the current state is outdated.
  mutating func waitForReload(telling event: EncodedEvent) {
    isLagging = false
    version = nil
    position = 0
    notify(event)
  }
}

/// Messages of a stream other than changesets (docs/http.md).
enum StreamNotice {
  /// The reader has received all published changesets.
  ///
  /// - Parameter partition: the feed's partition; nil if the feed was deleted.
  static func upToDate(_ feed: ByteText, _ version: FeedVersion, partition: Int32?) -> EncodedEvent {
    let place = partition.map { ",\"partition\":\($0)" } ?? ""
    return event("up-to-date", feed, "\(place),\(members(version))")
  }

  /// In a window, only the totals have changed.
  ///
  /// - Parameter totals: the member `window` of the window's changesets.
  static func window(_ feed: ByteText, _ version: FeedVersion, _ totals: [UInt8]) -> EncodedEvent {
    event("window", feed, ",\(members(version)),\(String(decoding: totals, as: UTF8.self))")
  }

  private static func members(_ version: FeedVersion) -> String {
    "\"epoch\":\(quoted(version.epoch)),\"revision\":\(version.revision)"
  }

  /// The first message of a stream of many feeds.
  static func stream(_ id: String) -> EncodedEvent {
    EncodedEvent(name: "stream", data: Array("{\"stream\":\(quoted(id))}".utf8))
  }

  /// The feed does not exist.
  static func absent(_ feed: ByteText) -> EncodedEvent { event("absent", feed, reason: "unknown-feed") }

  /// The client's token does not allow reading the feed, or no longer.
  static func forbidden(_ feed: ByteText, reason: String) -> EncodedEvent {
    event("forbidden", feed, reason: reason)
  }

  /// The state sent so far is outdated.
  static func mustRefetch(_ feed: ByteText, reason: String) -> EncodedEvent {
    event("must-refetch", feed, reason: reason)
  }

  /// Further partitions have a feed with the same id, which is a producers' mistake.
  static func otherPartitions(_ feed: FeedAddress, _ others: [Int32]) -> EncodedEvent {
    let partition = feed.partition.map { ",\"partition\":\($0)" } ?? ""
    return event("other-partitions", feed.id, "\(partition),\"otherPartitions\":[\(SharedIDs.list(others))]")
  }

  /// Another instance serves the feed.
  ///
  /// - Parameter url: the address of that instance; nil if unknown.
  static func moved(_ feed: ByteText, partition: Int32, url: String?) -> EncodedEvent {
    event("moved", feed, ",\"partition\":\(partition)\(url.map { ",\"url\":\(quoted($0))" } ?? "")")
  }

  private static func event(_ name: String, _ feed: ByteText, reason: String) -> EncodedEvent {
    event(name, feed, ",\"reason\":\(quoted(reason))")
  }

  /// - Parameter members: further members, each with a comma before it.
  private static func event(_ name: String, _ feed: ByteText, _ members: String) -> EncodedEvent {
    EncodedEvent(name: name, data: Array("{\"feed\":\(quoted(feed.string))\(members)}".utf8))
  }

  private static func quoted(_ text: String) -> String { JSONData(string: text).description }
}

/// One revision of a feed. Its text, `<epoch>@<revision>`, is the entity tag of the state, and its last
/// message's id.
struct FeedVersion: Sendable, Equatable {
  let epoch: String
  let revision: UInt64

  var text: String { "\(epoch)@\(revision)" }
}

extension FeedVersion {
  init(_ description: FeedDescription) {
    self.init(epoch: description.epoch, revision: description.revision)
  }

  /// Nil if the text is not a version.
  init?(_ text: String) {
    guard let at = text.lastIndex(of: "@"), let revision = UInt64(text[text.index(after: at)...]) else {
      return nil
    }
    self.init(epoch: String(text[..<at]), revision: revision)
  }
}
