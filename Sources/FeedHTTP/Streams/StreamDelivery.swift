import Feed
import FeedClient
import Service

/// Decides what the readers of streams are sent: who has which changesets, who lags, and who is up to date.
///
/// A plain value without locks and without a client: it is told what has happened, puts messages into the readers'
/// queues, and returns what is left to be done when no lock is held. So every step can be tested alone.
struct StreamDelivery {
  private struct StreamedFeed {
    var readers: [Int: StreamReader] = [:]
    /// What was delivered while there were readers reaches to this offset.
    var newest: Int64 = -1
    /// How often the feed was lost or went: a state that was made before is worth nothing.
    var breaks = 0
  }

  /// A reader by its number, and its queue.
  typealias Numbered = (number: Int, stream: EventStream)

  /// What came of a state that was made for a reader.
  enum Sending: Equatable {
    /// It was sent, or is not wanted any more.
    case sent
    /// The feed has changed since the state was made, and how is not known: make another.
    case isOld
    /// There is no such feed any more.
    case isGone
  }

  private var feeds: [ByteText: StreamedFeed] = [:]
  private var history: ChangesetHistory
  private var nextNumber = 0
  /// Feeds of which a reader may have to be told that it is up to date.
  private(set) var untold: Set<ByteText> = []

  init(maxHistoryBytes: Int) { history = ChangesetHistory(limit: maxHistoryBytes) }

  /// Whether anybody reads a feed.
  func isRead(_ feed: ByteText) -> Bool { feeds[feed] != nil }

  /// How often a feed was lost or went; nil if nobody reads it.
  func breaks(of feed: ByteText) -> Int? { feeds[feed]?.breaks }

  // MARK: Readers

  /// Takes a reader in.
  ///
  /// - Parameters:
  ///   - version: what it has already; nil for nothing.
  ///   - current: the feed now: what was delivered before is in it, and what comes later is for the reader.
  /// - Returns: the reader's number, and whether it has to be sent the feed's state.
  mutating func add(
    _ stream: EventStream,
    to feed: ByteText,
    after version: FeedVersion?,
    current: FeedDescription?
  ) -> (number: Int, isLagging: Bool) {
    var reader = StreamReader(stream)
    if let version, let current, current.standing >= .catchingUp {
      if let missed = history.changesets(of: feed, after: version) {
        // What was delivered is in the history, and the rest is yet to come.
        reader.resume(after: version, position: 0, missed: missed)
      } else if FeedVersion(current) == version {
        reader.resume(after: version, position: current.position, missed: [])
      }
    }
    let number = nextNumber
    nextNumber += 1
    feeds[feed, default: StreamedFeed()].readers[number] = reader
    untold.insert(feed)
    return (number, reader.isLagging)
  }

  mutating func remove(_ number: Int, of feed: ByteText) {
    feeds[feed]?.readers[number] = nil
    if feeds[feed]?.readers.isEmpty == true { feeds[feed] = nil }
  }

  // MARK: Changes

  /// Sends what has happened to a feed.
  ///
  /// - Parameter step: any but `end`, which ``end(_:)`` does.
  /// - Returns: those who lag since then, to be sent the feed's state; nil if nobody reads it.
  mutating func take(_ step: StreamStep, of feed: ByteText) -> [Numbered]? {
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
    case .notice(let event, let audience):
      history.removeAll(of: feed)
      streamed.breaks += 1
      for (number, reader) in streamed.readers where audience.includes(reader.version) {
        streamed.readers[number]?.tell(event)
      }
    case .forget:
      history.removeAll(of: feed)
      streamed.breaks += 1
    case .end, .pass: break
    }
    guard !streamed.readers.isEmpty else { return nil }
    feeds[feed] = streamed
    untold.insert(feed)
    return streamed.readers.filter { $0.value.isLagging && !before.contains($0.key) }
      .map { ($0.key, $0.value.stream) }
  }

  /// Forgets a feed that is gone.
  ///
  /// - Returns: the streams of its readers, to be ended.
  mutating func end(_ feed: ByteText) -> [EventStream] {
    history.removeAll(of: feed)
    return feeds.removeValue(forKey: feed)?.readers.values.map(\.stream) ?? []
  }

  /// Forgets what was sent.
  ///
  /// - Returns: the feeds that are read, to be ended.
  mutating func reset() -> [ByteText] {
    history.removeAll()
    return Array(feeds.keys)
  }

  // MARK: State

  /// Sends a reader that lags a state of the feed, and what came after that.
  ///
  /// - Parameters:
  ///   - breaks: ``breaks(of:)`` from before the state was made.
  ///   - description: the feed now.
  mutating func send(
    _ state: ReloadCache.Current,
    after breaks: Int,
    to number: Int,
    of feed: ByteText,
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
      // All that was delivered is in the history.
      reader.take(state.reload, position: 0, missed: missed)
    } else {
      return .isOld
    }
    feeds[feed]?.readers[number] = reader
    untold.insert(feed)
    return .sent
  }

  // MARK: Up to date

  /// Tells the readers of a feed that everything was sent, if that is so.
  ///
  /// - Parameter description: the feed now.
  /// - Returns: those who have no room for the message, to be told when they have.
  mutating func tellUpToDate(_ feed: ByteText, current description: FeedDescription?) -> [Numbered] {
    guard let description, description.standing >= .catchingUp, var streamed = feeds[feed] else {
      // It is told of what comes next.
      untold.remove(feed)
      return []
    }
    guard description.standing == .upToDate else { return [] }
    let version = FeedVersion(description)
    let notice = StreamNotice.upToDate(feed, version)
    var isTold = true
    var full: [Numbered] = []
    // Who lags is told after it was sent the state.
    for (number, reader) in streamed.readers where !reader.isToldUpToDate && !reader.isLagging {
      guard reader.version == version else {
        isTold = false
        continue
      }
      // Who has no room is told later, and not asked until then.
      streamed.readers[number]?.isToldUpToDate = true
      if reader.stream.write(notice) == .full { full.append((number, reader.stream)) }
    }
    feeds[feed] = streamed
    if isTold { untold.remove(feed) }
    return full
  }

  /// A reader that had no room for the message has drained its queue: it is to be told again.
  ///
  /// - Returns: its stream if it has begun to lag meanwhile, and is to be sent the feed's state instead.
  mutating func tellAgain(_ number: Int, of feed: ByteText) -> EventStream? {
    guard let reader = feeds[feed]?.readers[number] else { return nil }
    if reader.isLagging { return reader.stream }
    feeds[feed]?.readers[number]?.isToldUpToDate = false
    untold.insert(feed)
    return nil
  }
}
