import Feed
import FeedClient
import HTTP
import Queues

/// Decides which messages the readers of streams receive, which readers lag, and which are up to date.
///
/// A plain value without locks or a client. The caller reports events; each method writes messages into the streams'
/// queues, and returns what the caller must do without the lock. So every step can be tested alone.
///
/// A stream follows views of feeds. A view has a reader while the feed is served here, and waits for it otherwise.
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
  /// The number of followed views.
  var viewCount = 0
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

  /// The readers of a view; nil if it has none.
  subscript(view: ViewAddress) -> StreamedView? {
    get { feeds[view.feed]?.views[view.window] }
    _modify {
      var none: StreamedView?
      if feeds[view.feed] == nil { yield &none } else { yield &feeds[view.feed]!.views[view.window] }
    }
  }

  /// Adds a reader for a waiting view, whose feed is served here. It lags until ``start(_:of:_:)``.
  ///
  /// - Parameter version: the reader's version; nil for none.
  /// - Returns: the reader and its view; nil if the view does not wait any more.
  mutating func begin(
    _ viewID: ViewID,
    on number: Int,
    at feed: FeedAddress,
    after version: FeedVersion?
  ) -> (reader: ReaderID, view: ViewAddress)? {
    guard let stream = streams[number]?.stream, let request = waitingView(viewID, on: number)?.request else {
      return nil
    }
    let (id, view) = (viewID.reader(on: number), ViewAddress(feed, request.window))
    stopWaiting(for: feed.id, id)
    streams[number]?.followed[viewID]?.feed = feed
    streams[number]?.followed[viewID]?.request.version = nil
    let reader = StreamReader(stream, tag: viewID.tag, version: version)
    feeds[feed, default: StreamedFeed()].views[view.window, default: StreamedView()][id] = reader
    return (id, view)
  }

  /// Starts a reader with the changesets that it missed, or makes it wait for the view's state.
  ///
  /// - Parameter current: the view's standing, which includes everything delivered so far.
  mutating func start(_ id: ReaderID, of view: ViewAddress, _ current: ViewStanding?) {
    guard self[view]?[id] != nil else { return }
    if let current { note(current.description, of: view.feed) }
    if self[view]?.totals == nil { self[view]?.totals = current?.totals }
    if !resume(id, of: view, current) { lag(id, view) }
  }

  /// Continues a lagging reader after its version, if the changesets that it missed are known.
  ///
  /// - Parameter current: the view's standing, which includes everything delivered so far; later changesets go to
  ///   the reader.
  /// - Returns: whether the reader does not lag any more.
  mutating func resume(_ id: ReaderID, of view: ViewAddress, _ current: ViewStanding?) -> Bool {
    guard var reader = self[view]?[id], reader.isLagging, let version = reader.version,
      current.map({ $0.standing >= .catchingUp }) ?? history.endsWithDeletion(view.feed)
    else { return false }
    if let current, current.includes(version) {
      reader.resume(after: version, position: current.description.position, missed: [])
    } else if let missed = history.changesets(of: view, after: version) {
      // Delivered changesets are in the history; the others arrive later.
      reader.resume(after: version, position: 0, missed: missed, isAtDeletion: current == nil)
    } else {
      return false
    }
    // The missed changesets may not contain the totals.
    if let current, let totals = current.totals, current.includes(reader.version) {
      reader.notify(StreamNotice.window(view.feed.id, current.version, totals))
    } else if view.window != nil, !reader.isLagging {
      self[view]?.totals = nil
      awaitingTotals.insert(view.feed)
    }
    set(reader, id, of: view)
    return !reader.isLagging
  }

  private mutating func set(_ reader: StreamReader, _ id: ReaderID, of view: ViewAddress) {
    self[view]?[id] = reader
    streams[id.stream]?.followed[id.viewID(of: view.feed.id)]?.told = nil
    awaitingNotice.insert(view.feed)
  }

  /// Whether a reader with this version of a missing feed can receive its deletion.
  func hasDeletion(of feed: FeedAddress, after version: FeedVersion) -> Bool {
    history.endsWithDeletion(feed)
      && history.changesets(of: ViewAddress(feed), after: version) != nil
  }

  /// Removes a reader.
  mutating func remove(_ id: ReaderID, of view: ViewAddress) {
    streams[id.stream]?.forget(id, of: view.feed.id)
    self[view]?[id] = nil
    guard self[view]?.readers.isEmpty == true else { return }
    self[view] = nil
    if view.window != nil { history.removeAll(of: view) }
    if feeds[view.feed]?.views.isEmpty == true { feeds[view.feed] = nil }
  }

  mutating func lag(_ id: ReaderID, _ view: ViewAddress) {
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
    feeds[feed]?.steps += 1
    let whole = ViewAddress(feed)
    var lagging: [Int] = []
    switch step {
    case .changeset(let changeset, let changes):
      history.append(changeset, of: whole)
      lagging += visit(whole, newest: changeset.offset) { $0.take(changeset) }
      if changeset.isReload {
        awaitNotice(of: whole)
        lagging += breakWindows(of: feed, newest: changeset.offset, before: changeset.offset)
      } else if feeds[feed]?.hasWindows == true {
        awaitingTotals.insert(feed)
        for (view, change) in changes.map({ (ViewAddress(feed, $0), $1) }) where self[view] != nil {
          history.append(change, of: view)
          self[view]?.totals = change.totals
          lagging += visit(view, newest: change.offset) { $0.take(change) }
        }
      }
    case .jump(let version, let position):
      history.removeAll(of: whole)
      lagging += visit(whole, newest: position - 1) { $0.jump(to: version, position: position) }
      lagging += breakWindows(of: feed, newest: position - 1, before: position)
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
  func windows(of feed: FeedAddress) -> [ViewAddress] {
    feeds[feed]?.views.keys.compactMap { $0 }.map { ViewAddress(feed, $0) } ?? []
  }

  /// Makes the readers of windows lag whose states are from before an offset: their changesets are not known.
  private mutating func breakWindows(of feed: FeedAddress, newest: Int64, before offset: Int64) -> [Int] {
    windows(of: feed).flatMap { view in
      history.removeAll(of: view)
      return visit(view, newest: newest) { $0.lag(unlessBefore: offset) }
    }
  }

  /// Passes an event on to the readers of a view.
  ///
  /// - Parameter newest: the offset of the delivered changeset.
  /// - Returns: streams with readers that began to lag.
  private mutating func visit(
    _ view: ViewAddress,
    newest: Int64? = nil,
    _ body: (inout StreamReader) -> Void
  ) -> [Int] {
    if let newest { self[view]?.newest = newest }
    let lagging = self[view]?.visit(body) ?? []
    for id in lagging { lag(id, view) }
    return lagging.map(\.stream)
  }

  private mutating func awaitNotice(of view: ViewAddress) {
    guard let readers = self[view]?.readers else { return }
    self[view]?.awaiting.formUnion(readers.keys)
    awaitingNotice.insert(view.feed)
  }

  // MARK: State

  /// The reader of a stream that needs the state of its view next; nil if none does, and then the stream is done.
  mutating func nextState(on number: Int) -> (reader: ReaderID, view: ViewAddress)? {
    while let next = streams[number]?.takeSmallest() {
      if self[next.view]?[next.reader]?.isLagging == true { return next }
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
    of view: ViewAddress,
    current description: FeedDescription?
  ) -> Sending {
    guard let streamed = self[view], var reader = streamed[id], reader.isLagging else { return .sent }
    guard let description, description.standing != .bootstrapping else { return .isGone }
    if description.standing == .mustRefetch {
      reader.waitForReload(
        telling: StreamNotice.mustRefetch(view.feed.id, reason: "changesets of the feed are missing")
      )
    } else if feeds[view.feed]?.breaks != breaks {
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
    set(reader, id, of: view)
    // The changesets after the state have filled the queue.
    if reader.isLagging { lag(id, view) }
    return .sent
  }

  // MARK: Up to date

  /// The views of a feed with readers that may need an up-to-date notice.
  func awaitingViews(of feed: FeedAddress) -> [ViewAddress] {
    feeds[feed]?.views.filter { !$0.value.awaiting.isEmpty }.map { ViewAddress(feed, $0.key) } ?? []
  }

  /// Sends the readers of a feed an up-to-date notice, if it applies.
  ///
  /// - Parameters:
  ///   - standing: the client's standing, for a feed that does not exist.
  ///   - standings: the standings of ``awaitingViews(of:)``, nil if the feed does not exist.
  mutating func sendUpToDate(_ feed: FeedAddress, standing: FeedStanding, _ standings: ViewStandings) {
    for (view, current) in standings {
      guard current.map({ $0.standing >= .catchingUp }) ?? true else {
        // The next reload sets it.
        self[view]?.awaiting = []
        continue
      }
      guard (current?.standing ?? standing) == .upToDate, let streamed = self[view] else { continue }
      let notice = current.map {
        StreamNotice.upToDate(feed.id, $0.version, partition: $0.description.partition)
      }
      for id in streamed.awaiting {
        guard let reader = streamed[id] else { continue }
        // A lagging reader gets the event after it has received the state.
        if !reader.isLagging, let current, !current.includes(reader.version) { continue }
        self[view]?.awaiting.remove(id)
        // For a missing feed, its deletion or the end of its stream is still to be delivered.
        let deletion = reader.isAtDeletion ? reader.version : nil
        guard !reader.isLagging,
          let event = notice ?? deletion.map({ StreamNotice.upToDate(feed.id, $0, partition: nil) })
        else { continue }
        reader.tell(event)
      }
    }
    if awaitingViews(of: feed).isEmpty { awaitingNotice.remove(feed) }
  }

  // MARK: Totals

  /// Sends the readers of a feed's windows their totals, unless a changeset did.
  ///
  /// - Parameter standings: the standings of ``windows(of:)``.
  /// - Returns: streams with readers that began to lag.
  mutating func sendTotals(of feed: FeedAddress, _ standings: ViewStandings) -> [Int] {
    var lagging: [Int] = []
    for (view, current) in standings {
      guard let current, current.standing >= .catchingUp, let totals = current.totals,
        let streamed = self[view], streamed.totals != totals
      else { continue }
      // A pending changeset of the window contains them.
      guard streamed.readers.values.allSatisfy({ $0.isLagging || current.includes($0.version) }) else {
        awaitingTotals.insert(feed)
        continue
      }
      self[view]?.totals = totals
      let event = StreamNotice.window(feed.id, current.version, totals)
      lagging += visit(view) { $0.notify(event) }
    }
    return lagging
  }
}

/// Views, and their standings at one time; nil for a feed that does not exist.
typealias ViewStandings = [(view: ViewAddress, current: ViewStanding?)]
