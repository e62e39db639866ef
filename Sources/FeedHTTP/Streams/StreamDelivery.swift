import Feed
import FeedClient
import Service

/// Decides which messages the readers of streams receive, which readers lag, and which are up to date.
///
/// A plain value without locks or a client. The caller reports events; each method writes messages into the streams'
/// queues, and returns what the caller must do without the lock. So every step can be tested alone.
///
/// A stream follows feeds, each at its own place. A place has a reader while the feed is served here, and waits for it otherwise.
/// The stream's number identifies the stream, and with a view's name the reader of the view.
struct StreamDelivery {
  /// The result of sending a state to a reader.
  enum Sending: Equatable {
    /// The state was sent, or its reader has left or does not lag any more.
    case sent
    /// The feed changed since the state was encoded, and the history lacks the changes: encode it again.
    case isOld
    /// The feed no longer exists.
    case isGone
  }

  /// Two classes, so that large states do not delay small ones.
  enum StateSize: Int, CaseIterable {
    case small
    case large
  }

  var feeds: [FeedAddress: StreamedFeed] = [:]
  var history: ChangesetHistory
  var streams: [Int: OpenStream] = [:]
  /// The numbers of streams of many feeds.
  var numbers: [String: Int] = [:]
  var nextNumber = 0
  /// Future readers that wait for a feed, by its id.
  var waiting: [ByteText: Set<ReaderID>] = [:]
  /// Ids of feeds for which streams wait without a known reason.
  var unsettled: Set<ByteText> = []
  /// Streams that can receive a small or a large state now.
  var due: [StateSize: Queue<Int>] = [:]
  /// The number of places.
  var placeCount = 0
  /// The earliest expiry of a token, in milliseconds since 1970.
  var nextExpiry = Int64.max
  /// Feeds with readers that may need an up-to-date notice.
  private(set) var awaitingNotice: Set<FeedAddress> = []
  /// Feeds with changed windows, perhaps only in their totals.
  var awaitingTotals: Set<FeedAddress> = []

  init(maxHistoryBytes: Int) { history = ChangesetHistory(limit: maxHistoryBytes) }

  func isRead(_ feed: FeedAddress) -> Bool { feeds[feed] != nil }

  /// How often a feed was lost or removed; nil if it has no readers.
  func breaks(of feed: FeedAddress) -> Int? { feeds[feed]?.breaks }

  // MARK: Readers

  /// Adds a reader at a waiting place, whose feed is served here.
  ///
  /// - Parameters:
  ///   - version: the reader's version; nil for none.
  ///   - current: the view's current standing. It includes everything delivered so far; later changesets go to the
  ///     reader.
  mutating func begin(
    _ place: OpenStream.Place,
    on number: Int,
    at feed: FeedAddress,
    after version: FeedVersion?,
    current: ViewStanding?
  ) {
    guard let stream = streams[number]?.stream else { return }
    let view = FeedView(feed, place.request.window)
    let id = place.request.place.reader(on: number)
    var reader = StreamReader(stream, tag: place.request.place.tag)
    if let version, current.map({ $0.standing >= .catchingUp }) ?? history.endsWithDeletion(feed) {
      if let current, current.includes(version) {
        reader.resume(after: version, position: current.description.position, missed: [])
      } else if let missed = history.changesets(of: view, after: version) {
        // Delivered changesets are in the history; the others arrive later.
        reader.resume(after: version, position: 0, missed: missed, isAtDeletion: current == nil)
      }
    }
    // The missed changesets may not contain the totals.
    var knowsTotals = reader.isLagging || view.window == nil
    if !knowsTotals, let current, let totals = current.totals, current.includes(reader.version) {
      reader.notify(StreamNotice.window(feed.id, current.version, totals))
      knowsTotals = true
    }
    stopWaiting(for: feed.id, id)
    var place = place
    place.feed = feed
    place.request.version = nil
    if !reader.isLagging { place.told = nil }
    streams[number]?.places[place.request.place] = place
    if let current { note(current.description, of: feed) }
    feeds[feed, default: StreamedFeed()].views[view.window, default: StreamedView()][id] = reader
    if !knowsTotals {
      feeds[feed]?.views[view.window]?.totals = nil
      awaitingTotals.insert(feed)
    } else if feeds[feed]?.views[view.window]?.totals == nil {
      feeds[feed]?.views[view.window]?.totals = current?.totals
    }
    if reader.isLagging { lag(id, view) } else { awaitingNotice.insert(feed) }
  }

  /// Whether a reader with this version of a missing feed can receive its deletion.
  func hasDeletion(of feed: FeedAddress, after version: FeedVersion) -> Bool {
    history.endsWithDeletion(feed)
      && history.changesets(of: FeedView(feed), after: version) != nil
  }

  /// Removes a reader.
  mutating func remove(_ id: ReaderID, of view: FeedView) {
    streams[id.stream]?.forget(id, of: view.feed.id)
    feeds[view.feed]?.views[view.window]?[id] = nil
    guard feeds[view.feed]?.views[view.window]?.readers.isEmpty == true else { return }
    feeds[view.feed]?.views[view.window] = nil
    if view.window != nil { history.removeAll(of: view) }
    if feeds[view.feed]?.views.isEmpty == true { feeds[view.feed] = nil }
  }

  mutating func lag(_ id: ReaderID, _ view: FeedView) {
    streams[id.stream]?.lag(id, view, size: feeds[view.feed]?.size(of: view.window) ?? 0)
  }

  private mutating func note(_ description: FeedDescription, of feed: FeedAddress) {
    feeds[feed, default: StreamedFeed()].itemCount = description.itemCount
    feeds[feed]?.sectionCount = description.sectionCount
  }

  // MARK: Changes

  /// Delivers one step to the readers of a feed.
  ///
  /// - Parameter step: any step except `end`, which ``end(_:telling:)`` handles.
  /// - Returns: streams with readers that began to lag, to which the caller must send the view's state.
  mutating func take(_ step: StreamStep, of feed: FeedAddress) -> [Int] {
    let whole = FeedView(feed)
    var lagging: [Int] = []
    switch step {
    case .changeset(let changeset, let changes):
      history.append(changeset, of: whole)
      lagging += visit(whole, newest: changeset.offset) { $0.take(changeset) }
      if changeset.isReload {
        awaitNotice(of: whole)
        for view in windows(of: feed) {
          history.removeAll(of: view)
          lagging += visit(view, newest: changeset.offset) { $0.lag(unlessBefore: changeset.offset) }
        }
      } else if feeds[feed]?.hasWindows == true {
        awaitingTotals.insert(feed)
        for (window, change) in changes where feeds[feed]?.views[window] != nil {
          let view = FeedView(feed, window)
          history.append(change, of: view)
          feeds[feed]?.views[window]?.totals = change.totals
          lagging += visit(view, newest: change.offset) { $0.take(change) }
        }
      }
    case .jump(let version, let position):
      history.removeAll(of: whole)
      lagging += visit(whole, newest: position - 1) { $0.jump(to: version, position: position) }
      for view in windows(of: feed) {
        history.removeAll(of: view)
        lagging += visit(view, newest: position - 1) { $0.lag(unlessBefore: position) }
      }
    case .notice(let event):
      feeds[feed]?.breaks += 1
      for view in windows(of: feed) + [whole] {
        history.removeAll(of: view)
        lagging += visit(view) { if !$0.isLagging { $0.waitForReload(telling: event) } }
      }
    case .deletion(let changeset, let reborn):
      feeds[feed]?.breaks += 1
      if reborn == nil { history.append(changeset, of: whole) } else { history.removeAll(of: whole) }
      for view in windows(of: feed) + [whole] {
        if view.window != nil { history.removeAll(of: view) }
        lagging += visit(view) { if reborn == nil || $0.version?.epoch != reborn { $0.take(changeset) } }
        awaitNotice(of: view)
      }
    case .forget:
      feeds[feed]?.breaks += 1
      for view in windows(of: feed) + [whole] { history.removeAll(of: view) }
    case .end: break
    }
    return lagging
  }

  /// The windows of a feed that have readers.
  private func windows(of feed: FeedAddress) -> [FeedView] {
    feeds[feed]?.views.keys.compactMap { $0 }.map { FeedView(feed, $0) } ?? []
  }

  /// Passes an event on to the readers of a view.
  ///
  /// - Parameter newest: the offset of the delivered changeset.
  /// - Returns: streams with readers that began to lag.
  private mutating func visit(
    _ view: FeedView,
    newest: Int64? = nil,
    _ body: (inout StreamReader) -> Void
  ) -> [Int] {
    if let newest { feeds[view.feed]?.views[view.window]?.newest = newest }
    let lagging = feeds[view.feed]?.views[view.window]?.visit(body) ?? []
    for id in lagging { lag(id, view) }
    return lagging.map(\.stream)
  }

  private mutating func awaitNotice(of view: FeedView) {
    guard let readers = feeds[view.feed]?.views[view.window]?.readers else { return }
    feeds[view.feed]?.views[view.window]?.awaiting.formUnion(readers.keys)
    awaitingNotice.insert(view.feed)
  }

  // MARK: State

  /// The reader of a stream that needs the state of its view next; nil if none does, and then the stream is done.
  ///
  /// - Parameter current: a view's current standing, for readers that have missed nothing.
  mutating func nextState(
    on number: Int,
    current: (FeedView) -> ViewStanding?
  ) -> (reader: ReaderID, view: FeedView)? {
    while let (id, view) = streams[number]?.takeSmallest() {
      guard var reader = feeds[view.feed]?.views[view.window]?[id], reader.isLagging else { continue }
      guard let version = reader.version, let current = current(view), current.standing >= .catchingUp,
        current.includes(version)
      else { return (id, view) }
      reader.resume(after: version, position: current.description.position, missed: [])
      feeds[view.feed]?.views[view.window]?[id] = reader
      awaitingNotice.insert(view.feed)
    }
    streams[number]?.isServed = false
    return nil
  }

  /// Sends a lagging reader a state of the view and the changesets after it.
  ///
  /// - Parameters:
  ///   - breaks: the value of ``breaks(of:)`` before the state was encoded.
  ///   - description: the feed's current description.
  mutating func send(
    _ state: ReloadCache.Current,
    after breaks: Int,
    to id: ReaderID,
    of view: FeedView,
    current description: FeedDescription?
  ) -> Sending {
    guard let feed = feeds[view.feed], let streamed = feed.views[view.window], var reader = streamed[id],
      reader.isLagging
    else { return .sent }
    guard let description, description.standing != .bootstrapping else { return .isGone }
    if description.standing == .mustRefetch {
      reader.waitForReload(
        telling: StreamNotice.mustRefetch(view.feed.id, reason: "changesets of the feed are missing")
      )
    } else if feed.breaks != breaks {
      return .isOld
    } else if streamed.newest < state.position {
      reader.take(state.reload, position: state.position, missed: [])
    } else if let missed = history.changesets(of: view, after: state.reload.version) {
      // All delivered changesets are in the history.
      reader.take(state.reload, position: 0, missed: missed)
    } else {
      return .isOld
    }
    note(description, of: view.feed)
    streams[id.stream]?.places[id.place(of: view.feed.id)]?.told = nil
    feeds[view.feed]?.views[view.window]?[id] = reader
    awaitingNotice.insert(view.feed)
    // The changesets after the state have filled the queue.
    if reader.isLagging { lag(id, view) }
    return .sent
  }

  // MARK: Up to date

  /// Sends the readers of a feed an up-to-date notice, if it applies.
  ///
  /// - Parameters:
  ///   - standing: the client's standing, for a feed that does not exist.
  ///   - current: a view's current standing; nil if the feed does not exist.
  mutating func sendUpToDate(
    _ feed: FeedAddress,
    standing: FeedStanding,
    current: (FeedView) -> ViewStanding?
  ) {
    var isTold = true
    for (window, streamed) in feeds[feed]?.views ?? [:] where !streamed.awaiting.isEmpty {
      let current = current(FeedView(feed, window))
      guard current.map({ $0.standing >= .catchingUp }) ?? true else {
        // The next reload sets it.
        feeds[feed]?.views[window]?.awaiting = []
        continue
      }
      guard (current?.standing ?? standing) == .upToDate else {
        isTold = false
        continue
      }
      let notice = current.map {
        StreamNotice.upToDate(feed.id, $0.version, partition: $0.description.partition)
      }
      for id in streamed.awaiting {
        guard let reader = streamed[id] else { continue }
        // A lagging reader gets the event after it has received the state.
        if !reader.isLagging, let current, !current.includes(reader.version) {
          isTold = false
          continue
        }
        feeds[feed]?.views[window]?.awaiting.remove(id)
        // For a missing feed, its deletion or the end of its stream is still to be delivered.
        let deletion = reader.isAtDeletion ? reader.version : nil
        guard !reader.isLagging,
          let event = notice ?? deletion.map({ StreamNotice.upToDate(feed.id, $0, partition: nil) })
        else { continue }
        reader.tell(event)
      }
    }
    if isTold { awaitingNotice.remove(feed) }
  }

  // MARK: Totals

  /// Sends the readers of a feed's windows their totals, unless a changeset did.
  ///
  /// - Returns: streams with readers that began to lag.
  mutating func sendTotals(of feed: FeedAddress, current: (FeedView) -> ViewStanding?) -> [Int] {
    var lagging: [Int] = []
    var isTold = true
    for view in windows(of: feed) {
      guard let current = current(view), current.standing >= .catchingUp, let totals = current.totals,
        let streamed = feeds[feed]?.views[view.window], streamed.totals != totals
      else { continue }
      // A pending changeset of the window contains them.
      guard streamed.readers.values.allSatisfy({ $0.isLagging || current.includes($0.version) }) else {
        isTold = false
        continue
      }
      feeds[feed]?.views[view.window]?.totals = totals
      let event = StreamNotice.window(feed.id, current.version, totals)
      lagging += visit(view) { $0.notify(event) }
    }
    if isTold { awaitingTotals.remove(feed) }
    return lagging
  }
}
