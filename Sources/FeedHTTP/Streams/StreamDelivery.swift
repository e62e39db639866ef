import Feed
import FeedClient
import Service

/// Decides which messages the readers of streams receive, which readers lag, and which are up to date.
///
/// A plain value without locks or a client. The caller reports events; each method writes messages into the readers'
/// queues, and returns what the caller must do without the lock. So every step can be tested alone.
struct StreamDelivery {
  private struct StreamedFeed {
    var readers: [Int: StreamReader] = [:]
    /// While there were readers, everything before this offset was delivered.
    var newest: Int64 = -1
    /// How often the feed was lost or removed. A state that was encoded before the last time is invalid.
    var breaks = 0
  }

  /// A reader by its number, and its queue.
  typealias Numbered = (number: Int, stream: EventStream)

  /// The result of sending a state to a reader.
  enum Sending: Equatable {
    /// The state was sent, or is not needed any more.
    case sent
    /// The feed changed since the state was encoded, and the changes are not in the history: encode another one.
    case isOld
    /// The feed no longer exists.
    case isGone
  }

  private var feeds: [FeedAddress: StreamedFeed] = [:]
  private var history: ChangesetHistory
  private var nextNumber = 0
  /// Feeds with readers that may need an event that they are up to date.
  private(set) var awaitingNotice: Set<FeedAddress> = []

  init(maxHistoryBytes: Int) { history = ChangesetHistory(limit: maxHistoryBytes) }

  /// Whether a feed has readers.
  func isRead(_ feed: FeedAddress) -> Bool { feeds[feed] != nil }

  /// How often a feed was lost or removed; nil if it has no readers.
  func breaks(of feed: FeedAddress) -> Int? { feeds[feed]?.breaks }

  // MARK: Readers

  /// Adds a reader.
  ///
  /// - Parameters:
  ///   - version: the version that it has; nil for none.
  ///   - current: the feed's current description. It includes everything delivered so far; later changesets go to the
  ///     reader.
  /// - Returns: the reader's number, and whether the caller must send it the feed's state.
  mutating func add(
    _ stream: EventStream,
    to feed: FeedAddress,
    after version: FeedVersion?,
    current: FeedDescription?
  ) -> (number: Int, isLagging: Bool) {
    var reader = StreamReader(stream)
    if let version, current.map({ $0.standing >= .catchingUp }) ?? history.endsWithDeletion(feed) {
      if let missed = history.changesets(of: feed, after: version) {
        // Delivered changesets are in the history; the others arrive later.
        reader.resume(after: version, position: 0, missed: missed, isAtDeletion: current == nil)
      } else if let current, FeedVersion(current) == version {
        reader.resume(after: version, position: current.position, missed: [])
      }
    }
    let number = nextNumber
    nextNumber += 1
    feeds[feed, default: StreamedFeed()].readers[number] = reader
    awaitingNotice.insert(feed)
    return (number, reader.isLagging)
  }

  /// Whether a reader with this version, of a feed that does not exist, can get the event of its deletion.
  func hasDeletion(of feed: FeedAddress, after version: FeedVersion) -> Bool {
    history.endsWithDeletion(feed) && history.changesets(of: feed, after: version) != nil
  }

  mutating func remove(_ number: Int, of feed: FeedAddress) {
    feeds[feed]?.readers[number] = nil
    if feeds[feed]?.readers.isEmpty == true { feeds[feed] = nil }
  }

  // MARK: Changes

  /// Delivers one step to the readers of a feed.
  ///
  /// - Parameter step: any step except `end`, which ``end(_:)`` handles.
  /// - Returns: readers that began to lag, to which the caller must send the feed's state; nil if the feed has no
  ///   readers.
  mutating func take(_ step: StreamStep, of feed: FeedAddress) -> [Numbered]? {
    var streamed = feeds.removeValue(forKey: feed) ?? StreamedFeed()
    let before = Set(streamed.readers.lazy.filter(\.value.isLagging).map(\.key))
    switch step {
    case .changeset(let changeset):
      history.append(changeset, of: feed)
      streamed.newest = changeset.offset
      for number in streamed.readers.keys { streamed.readers[number]?.take(changeset) }
    case .jump(let version, let position):
      history.removeAll(of: feed)
      streamed.newest = position - 1
      for number in streamed.readers.keys { streamed.readers[number]?.jump(to: version, position: position) }
    case .notice(let event):
      history.removeAll(of: feed)
      streamed.breaks += 1
      for number in streamed.readers.keys { streamed.readers[number]?.notify(event) }
    case .deletion(let changeset, let reborn):
      if reborn == nil { history.append(changeset, of: feed) } else { history.removeAll(of: feed) }
      streamed.breaks += 1
      for (number, reader) in streamed.readers where reborn == nil || reader.version?.epoch != reborn {
        streamed.readers[number]?.take(changeset)
      }
    case .forget:
      history.removeAll(of: feed)
      streamed.breaks += 1
    case .end: break
    }
    guard !streamed.readers.isEmpty else { return nil }
    feeds[feed] = streamed
    if step.needsNotice { awaitingNotice.insert(feed) }
    return streamed.readers.filter { $0.value.isLagging && !before.contains($0.key) }
      .map { ($0.key, $0.value.stream) }
  }

  /// Removes a feed that no longer exists.
  ///
  /// - Returns: the streams of its readers, which the caller must end.
  mutating func end(_ feed: FeedAddress) -> [EventStream] {
    history.removeAll(of: feed)
    return feeds.removeValue(forKey: feed)?.readers.values.map(\.stream) ?? []
  }

  /// Drops the history.
  ///
  /// - Returns: the feeds with readers, which the caller must end.
  mutating func reset() -> [FeedAddress] {
    history.removeAll()
    return Array(feeds.keys)
  }

  // MARK: State

  /// Sends a lagging reader a state of the feed and the changesets after it.
  ///
  /// - Parameters:
  ///   - breaks: the value of ``breaks(of:)`` before the state was encoded.
  ///   - description: the feed's current description.
  mutating func send(
    _ state: ReloadCache.Current,
    after breaks: Int,
    to number: Int,
    of feed: FeedAddress,
    current description: FeedDescription?
  ) -> Sending {
    guard let streamed = feeds[feed], var reader = streamed.readers[number], reader.isLagging else {
      return .sent
    }
    guard let description, description.standing != .bootstrapping else { return .isGone }
    if description.standing == .mustRefetch {
      reader.waitForReload(
        telling: StreamNotice.mustRefetch(feed, reason: "changesets of the feed are missing")
      )
    } else if streamed.breaks != breaks {
      return .isOld
    } else if streamed.newest < state.position {
      reader.take(state.reload, position: state.position, missed: [])
    } else if let missed = history.changesets(of: feed, after: state.reload.version) {
      // All delivered changesets are in the history.
      reader.take(state.reload, position: 0, missed: missed)
    } else {
      return .isOld
    }
    feeds[feed]?.readers[number] = reader
    awaitingNotice.insert(feed)
    return .sent
  }

  // MARK: Up to date

  /// Tells the readers of a feed that they are up to date, if they are.
  ///
  /// - Parameters:
  ///   - description: the feed's current description; nil if it does not exist.
  ///   - standing: the client's, for a feed that does not exist.
  mutating func sendUpToDate(
    _ feed: FeedAddress,
    current description: FeedDescription?,
    standing: FeedStanding
  ) {
    guard var streamed = feeds[feed], description.map({ $0.standing >= .catchingUp }) ?? true else {
      // The next reload sets it again.
      awaitingNotice.remove(feed)
      return
    }
    guard (description?.standing ?? standing) == .upToDate else { return }
    var isTold = true
    // A lagging reader gets the event after it has received the state.
    for (number, reader) in streamed.readers where !reader.hasUpToDateNotice && !reader.isLagging {
      guard let version = description.map(FeedVersion.init) ?? (reader.isAtDeletion ? reader.version : nil),
        reader.version == version
      else {
        // Of a feed that does not exist, the deletion has yet to be delivered, or the end of its stream.
        if description != nil { isTold = false }
        continue
      }
      let notice = StreamNotice.upToDate(feed, version, partition: description?.partition)
      streamed.readers[number]?.hasUpToDateNotice = true
      // There are no more of these than of messages that had to fit.
      _ = reader.stream.write(notice, isBounded: false)
    }
    feeds[feed] = streamed
    if isTold { awaitingNotice.remove(feed) }
  }
}
