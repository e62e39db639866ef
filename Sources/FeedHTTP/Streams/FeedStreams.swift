import Feed
import FeedClient
import FeedConfiguration
import FoundationEssentials
import HTTP
import OperatingSystem
import Synchronization

/// The open streams of changes.
///
/// A reader starts with the state of a feed, or of a window of it, or with the changesets that it missed, and then receives each
/// changeset once. A reader that is too slow *lags*: it receives nothing until its stream's queue is empty, and then the current
/// state. Of several such readers on one stream, the smallest state is sent first. This bounds memory.
///
/// This is a shell around ``StreamDelivery``, which decides. The lock is held for one changeset and the readers of its
/// feed. Only queues are written under it, and the store's thread never takes it.
final class FeedStreams: Sendable {
  let feeds: ServedFeeds
  let limits: HTTPOptions
  let client: FeedClient
  let reloads: ReloadCache
  let delivery: Mutex<StreamDelivery>
  /// The requests that wait for changes, besides the streams.
  let polls = ChangePolls()
  /// A reader may need an up-to-date notice.
  let noticeSignal = Signal()
  /// Work is due later.
  let lookSignal = Signal()
  /// A stream can receive a state of this size class.
  let stateSignals = StreamDelivery.StateSize.allCases.map { _ in Signal() }

  struct Signal: Sendable {
    let all: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (all, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func yield() { continuation.yield() }
  }

  /// The interval at which the end of a partition is polled while a reader waits for it, in milliseconds.
  private static let pollMilliseconds = 20
  /// Clients may be slow, and responses with several changesets are not shared.
  private static let pollBytes = 64 << 10
  /// The minimum interval of windows' totals and of searches for unknown feeds, in milliseconds.
  private static let lookMilliseconds = 1_000

  init(_ feeds: ServedFeeds, _ limits: HTTPOptions) {
    self.feeds = feeds
    self.limits = limits
    client = feeds.client
    reloads = feeds.reloads
    delivery = Mutex(StreamDelivery(maxHistoryBytes: limits.maxHistoryBytes))
  }

  /// Delivers the updates of the daemon's follower until they end. After a reset it can be called again.
  ///
  /// - Throws: `FeedClientError` if the client fails.
  func send() async throws {
    // The options limit the queue. A feed that changes faster is delivered as a state.
    let options = SubscriptionOptions(
      slowPolicy: .coalesces,
      maximumUpdates: 4096,
      hasSnapshots: false,
      hasDifferences: false
    )
    for try await update in client.updates(options) { deliver(update) }
  }

  /// Ends the streams of a single feed each, makes the others wait, and drops the history. Call it after the client was reset: a
  /// reader that connects in between finds no feed.
  func reset(reason: String) {
    let feeds = delivery.withLock { $0.reset() }
    for feed in feeds { end(feed, telling: StreamNotice.mustRefetch(feed.id, reason: reason)) }
    polls.wake(nil)
  }

  func description(of feed: FeedAddress) -> FeedDescription? {
    client.description(of: feed.id.string, in: feed.partition)
  }

  /// The number of followed feeds, counted for each stream, and of their distinct windows.
  var counts: (feeds: Int, windows: Int) {
    (delivery.withLock(\.viewCount), client.subscriptions.windowCount() + polls.windowCount)
  }

  // MARK: Streams

  /// Opens a stream of one feed.
  ///
  /// - Parameter others: further partitions with a feed of the same id.
  func open(_ stream: EventStream, _ request: FeedRequest, at feed: FeedAddress, besides others: [Int32] = [])
  {
    if !others.isEmpty { _ = stream.write(StreamNotice.otherPartitions(feed, others)) }
    open(stream, following: [request]) { number in
      begin(request.viewID, on: number, at: feed, after: request.version)
    }
  }

  /// Opens a stream of many feeds.
  func open(_ stream: EventStream, _ requests: [FeedRequest]) {
    let id = UUID().uuidString.replacing("-", with: "").lowercased()
    _ = stream.write(StreamNotice.stream(id))
    open(stream, id: id, following: requests) { number in
      for request in requests { settle(request.viewID, on: number) }
    }
  }

  private func open(
    _ stream: EventStream,
    id: String? = nil,
    following requests: [FeedRequest],
    _ begin: (_ number: Int) -> Void
  ) {
    let number = delivery.withLock { $0.open(stream, id: id) }
    stream.onEnd { [weak self] in
      guard let self else { return }
      close(delivery.withLock { $0.close(number) })
    }
    if stream.rights.expires != nil { lookSignal.yield() }
    follow(requests, on: number, stream.rights)
    begin(number)
    serve(number)
  }

  /// Whether some more windows may be open or waited for. Ignores requests that are admitted concurrently.
  func admits(_ requests: [FeedRequest], _ rights: AccessRights) -> Bool {
    let open = client.subscriptions.windowCount(with: requests.filter(rights.mayRead).map(\.view))
    return open + polls.windowCount <= limits.maxWindows
  }

  /// Changes the feeds that an open stream follows, and its rights.
  ///
  /// - Parameter rights: the newest token's, which must belong to the stream's owner; else the stream counts as missing.
  /// - Returns: the added views, those with another window, and the removed ones; nil if the stream does not exist.
  /// - Throws: ``ContentFault`` if there would be too many feeds; ``HTTPRefusal`` if the client's queue is too long.
  func change(
    _ id: String,
    _ rights: AccessRights = .all,
    removing removed: [FeedRequest],
    adding added: [FeedRequest]
  ) throws -> StreamChange? {
    var change = StreamChange()
    // The refused feeds that the new token allows.
    let given = (removed + added).map(\.viewID)
    var allowed = delivery.withLock { $0.refused(on: id, butReadableBy: rights) }
      .filter { !given.contains($0.viewID) }
    // Without room for their windows they stay refused.
    if !admits(added + allowed, rights) { allowed = [] }
    // The views to close: all opened ones that the stream does not follow in the end.
    var closed = added.filter(rights.mayRead) + allowed
    // Opened before their states are read.
    open(closed)
    defer { close(closed) }
    let number = try delivery.withLock { (delivery) throws -> Int? in
      guard let number = delivery.numbers[id], let stream = delivery.streams[number],
        stream.rights.belong(with: rights)
      else { return nil }
      // Notices have no other limit.
      guard stream.stream.queuedBytes < limits.server.maxStreamQueueBytes else {
        let detail = "the stream's client has not read its queue; try again later"
        throw HTTPRefusal.unavailable("too-much-waits", detail)
      }
      let partitions = stream.forbidden.mapValues(\.partition)
        .merging(stream.followed.mapValues { $0.feed?.partition ?? $0.request.partition }) { $1 }
      change.removed = removed.filter { request in
        partitions[request.viewID].map { request.partition == nil || request.partition == $0 } ?? false
      }.map(\.viewID)
      let kept = Set(partitions.keys).subtracting(change.removed)
      let all = kept.union(added.map(\.viewID))
      guard all.count <= limits.maxFeedsPerStream else {
        throw ContentFault("add", "would make it \(all.count) feeds; allowed: \(limits.maxFeedsPerStream)")
      }
      change.changed = added.map(\.viewID).filter(kept.contains)
      change.added = added.map(\.viewID).filter { !kept.contains($0) }
      closed = (change.removed + change.changed).compactMap { delivery.unfollow($0, on: number) }
      closed += delivery.grant(rights, to: number)
      for request in allowed {
        // Skips a request that was changed meanwhile.
        guard stream.forbidden[request.viewID] == request else {
          closed.append(request)
          continue
        }
        delivery.follow(request, on: number)
      }
      for var request in added {
        let isChange = stream.followed[request.viewID] != nil
        if isChange { request.version = nil }
        delivery.follow(request, on: number)
        // The reader's state of the previous view is not valid for the new one.
        guard isChange else { continue }
        let notice = StreamNotice.mustRefetch(request.feed, reason: "the stream was asked for it again")
        delivery.tell(notice, of: request.viewID, on: number)
      }
      return number
    }
    guard let number else { return nil }
    if rights.expires != nil { lookSignal.yield() }
    for request in added + allowed { settle(request.viewID, on: number) }
    serve(number)
    return change
  }

  private func follow(_ requests: [FeedRequest], on number: Int, _ rights: AccessRights) {
    let readable = requests.filter(rights.mayRead)
    // Opened before their states are read.
    open(readable)
    let isOpen = delivery.withLock { delivery in
      for request in requests { delivery.follow(request, on: number) }
      return delivery.streams[number] != nil
    }
    if !isOpen { close(readable) }
  }

  private func open(_ requests: [FeedRequest]) { client.subscriptions.open(requests.map(\.view)) }

  private func close(_ requests: [FeedRequest]) { client.subscriptions.close(requests.map(\.view)) }

  /// The changesets of a feed after a version, as lines of JSON: the first one, and more up to 64 KiB.
  ///
  /// - Returns: no version if there are none yet; nil if they are not known.
  func changes(
    of feed: FeedAddress,
    after version: FeedVersion
  ) -> (lines: HTTPContent, version: FeedVersion?)? {
    let view = ViewAddress(feed)
    let missed = withStanding(of: view) { delivery, current in
      guard let current = current?.version, current.epoch == version.epoch,
        current.revision <= version.revision
      else { return delivery.history.changesets(of: view, after: version) }
      // A reader of another instance may be ahead.
      return []
    }
    guard let missed else { return nil }
    var (lines, reached): ([UInt8], FeedVersion?) = ([], nil)
    for changeset in missed {
      let added = changeset.lines
      guard lines.count + added.count <= Self.pollBytes else {
        if reached != nil { break }
        // Beyond this limit, it is replaced by the state.
        return added.count <= limits.server.maxStreamQueueBytes ? (added, changeset.version) : nil
      }
      added.withUnsafeBytes { lines += $0 }
      reached = changeset.version
    }
    return (HTTPContent(lines), reached)
  }

  /// Whether a reader that reconnects can receive the deletion of its feed.
  func hasDeletion(of feed: FeedAddress, after version: FeedVersion) -> Bool {
    delivery.withLock { $0.hasDeletion(of: feed, after: version) }
  }

  // MARK: Views

  /// Starts a reader for a stream's waiting view, or sends the client the reason why not.
  func settle(_ id: ViewID, on number: Int) {
    guard let view = delivery.withLock({ $0.waitingView(id, on: number) }) else { return }
    switch feeds.location(of: id.feed, in: view.request.partition) {
    case .here(let description):
      let feed = FeedAddress(description.partition, id.feed)
      let others = feeds.otherPartitions(description)
      if !others.isEmpty { tell(StreamNotice.otherPartitions(feed, others), of: id, on: number) }
      let isAmbiguous = view.request.partition == nil && !others.isEmpty
      begin(id, on: number, at: feed, after: isAmbiguous ? nil : view.request.version)
    case .elsewhere(let partition):
      let notice = StreamNotice.moved(id.feed, partition: partition, url: feeds.moved.url(of: partition))
      tell(notice, of: id, on: number)
    case .nowhere: tell(StreamNotice.absent(id.feed), of: id, on: number)
    case .notYet:
      delivery.withLock { _ = $0.unsettled.insert(id.feed) }
      lookSignal.yield()
    }
  }

  func tell(_ event: EncodedEvent, of id: ViewID, on number: Int) {
    delivery.withLock { $0.tell(event, of: id, on: number) }
  }

  private func begin(_ id: ViewID, on number: Int, at feed: FeedAddress, after version: FeedVersion?) {
    guard let (reader, view) = delivery.withLock({ $0.begin(id, on: number, at: feed, after: version) })
    else { return }
    withStanding(of: view, withTotals: true) { $0.start(reader, of: view, $1) }
    noticeSignal.yield()
  }

  /// Passes a view's standing to the delivery; see ``withStandings(of:withTotals:_:pass:)``.
  func withStanding<Result: Sendable>(
    of view: ViewAddress,
    withTotals: Bool = false,
    _ body: (inout StreamDelivery, ViewStanding?) -> Result
  ) -> Result {
    withStandings(of: view.feed, withTotals: withTotals) { _ in
      [view]
    } pass: {
      body(&$0, $1[0].current)
    }
  }

  /// Passes the standings of a feed's views to the delivery. They are read without the lock, and again if an update of
  /// the feed was delivered meanwhile: so they include everything delivered so far.
  private func withStandings<Result: Sendable>(
    of feed: FeedAddress,
    withTotals: Bool = false,
    _ views: (StreamDelivery) -> [ViewAddress],
    pass body: (inout StreamDelivery, ViewStandings) -> Result
  ) -> Result {
    while true {
      let (views, steps) = delivery.withLock { (views($0), $0.feeds[feed]?.steps) }
      let standings = views.map { ($0, client.subscriptions.standing(of: $0, withTotals: withTotals)) }
      let result = delivery.withLock { $0.feeds[feed]?.steps == steps ? body(&$0, standings) : nil }
      if let result { return result }
    }
  }

  // MARK: Changes

  /// Delivers one update from the client.
  func deliver(_ update: FeedUpdate) {
    let feed = update.address
    let step = StreamStep(update, current: description(of: feed))
    switch step {
    // A reader that reconnects starts with the current state.
    case .end: return end(feed, telling: nil)
    case .changeset(let changeset, let windows):
      // Encoded outside of the lock.
      if delivery.withLock({ $0.isRead(feed) }) { _ = changeset.events(for: nil) }
      for change in windows.values { _ = change.events(for: change.base) }
    case .jump, .notice, .deletion, .forget: break
    }
    let (lagging, waiting, isDue) = delivery.withLock { delivery in
      let lagging = delivery.take(step, of: feed)
      return (lagging, delivery.waiting[feed.id] ?? [], delivery.awaitingTotals.contains(feed))
    }
    for number in lagging { serve(number) }
    for reader in waiting {
      settle(reader.viewID(of: feed.id), on: reader.stream)
      serve(reader.stream)
    }
    if isDue { lookSignal.yield() }
    noticeSignal.yield()
    polls.wake(feed.id)
  }

  // MARK: Ends

  /// Ends the streams of feeds that have moved to another instance.
  func move(_ feeds: [(feed: ByteText, partition: Int32)], to url: (Int32) -> String?) {
    for (feed, partition) in feeds {
      let notice = StreamNotice.moved(feed, partition: partition, url: url(partition))
      end(FeedAddress(partition, feed), telling: notice)
    }
  }

  /// Ends the streams of a feed that this process has stopped serving; streams of many feeds wait.
  ///
  /// - Parameter event: nil if the feed does not seem to exist.
  private func end(_ feed: FeedAddress, telling event: EncodedEvent?) {
    let (ended, waiting) = delivery.withLock { delivery in
      let ended = delivery.end(feed, telling: event)
      return (ended, delivery.waiting[feed.id] ?? [])
    }
    let notice = event ?? StreamNotice.mustRefetch(feed.id, reason: Self.absence)
    for stream in ended {
      // If the queue is full, the notice replaces it: the reader starts over in any case.
      if stream.write(notice) == .full { stream.replaceQueued(with: notice) }
      stream.close()
    }
    if event == nil {
      for reader in waiting { settle(reader.viewID(of: feed.id), on: reader.stream) }
    } else if !waiting.isEmpty {
      lookSignal.yield()
    }
    polls.wake(feed.id)
  }

  static let absence = "the feed no longer exists"

  // MARK: Later

  /// Sends readers a notice when they have received everything, until the task is cancelled. The end of a partition
  /// is known some time after its last changeset; only partitions with a waiting reader are checked.
  func sendUpToDateNotices() async {
    for await _ in noticeSignal.all {
      while !sendUpToDate(), !Task.isCancelled {
        try? await Task.sleep(for: .milliseconds(Self.pollMilliseconds))
      }
    }
  }

  /// Sends a notice to the readers that have received everything.
  ///
  /// - Returns: whether no reader waits for a notice any more.
  func sendUpToDate() -> Bool {
    let standing = client.standing
    for feed in delivery.withLock(\.awaitingNotice) {
      withStandings(of: feed) {
        $0.awaitingViews(of: feed)
      } pass: {
        $0.sendUpToDate(feed, standing: standing, $1)
      }
    }
    return delivery.withLock(\.awaitingNotice.isEmpty)
  }

  /// Runs due work at most once a second, until the task is cancelled.
  func keepLooking() async {
    defer { polls.stop() }
    for await _ in lookSignal.all {
      guard (try? await Task.sleep(for: .milliseconds(Self.lookMilliseconds))) != nil else { return }
      look()
    }
  }

  /// Sends postponed messages, and ends streams whose tokens have expired.
  ///
  /// - Parameter now: in milliseconds since 1970.
  func look(at now: Int64 = WallClock.milliseconds()) {
    let (ended, requests) = delivery.withLock { $0.expire(at: now) }
    close(requests)
    for stream in ended { stream.close() }
    polls.expire()
    let (unsettled, totals) = delivery.withLock { delivery in
      defer { (delivery.unsettled, delivery.awaitingTotals) = ([], []) }
      let waiting = delivery.unsettled.flatMap { id in (delivery.waiting[id] ?? []).map { (id, $0) } }
      return (waiting, delivery.awaitingTotals)
    }
    for feed in totals {
      let lagging = withStandings(of: feed, withTotals: true) {
        $0.windows(of: feed)
      } pass: {
        $0.sendTotals(of: feed, $1)
      }
      for number in lagging { serve(number) }
    }
    for (id, reader) in unsettled {
      settle(reader.viewID(of: id), on: reader.stream)
      serve(reader.stream)
    }
    let isDue = delivery.withLock { !$0.awaitingTotals.isEmpty || $0.nextExpiry < .max }
    if isDue || !polls.isEmpty { lookSignal.yield() }
  }
}

/// A change of the feeds that a stream follows.
struct StreamChange: Sendable {
  var added: [ViewID] = []
  var changed: [ViewID] = []
  var removed: [ViewID] = []
}
