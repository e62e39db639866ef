import Feed
import FeedClient
import Service
import Synchronization

/// The open streams of changes.
///
/// A reader begins with the feed's state or with what it missed, and then gets each changeset once. One that is
/// too slow *lags*: it gets nothing until it has taken what waits for it, and then the feed's state by then, so
/// that what it costs is bounded.
///
/// The lock is held for one changeset and the readers of its feed; nothing is written or encoded under it. The
/// store's thread never takes it.
final class FeedStreams: Sendable {
  private struct StreamedFeed {
    var readers: [Int: StreamReader] = [:]
    /// What was delivered while there were readers reaches to this offset.
    var newest: Int64 = -1
    /// How often the feed was lost or went: a state that was made before is worth nothing.
    var breaks = 0
  }

  private struct State {
    var feeds: [ByteText: StreamedFeed] = [:]
    var history: ChangesetHistory
    var nextNumber = 0
    /// Feeds of which a reader may have to be told that it is up to date.
    var untold: Set<ByteText> = []
  }

  private let client: FeedClient
  private let reloads: ReloadCache
  private let state: Mutex<State>
  /// Has something when `untold` is no longer empty.
  private let untoldSignals: AsyncStream<Void>
  private let untoldSignal: AsyncStream<Void>.Continuation

  /// How often it is looked whether a partition's end was reached, in milliseconds, while somebody waits for it.
  private static let lookMilliseconds = 20
  /// How often a state is made for a reader before it is asked to come again.
  private static let attempts = 5

  init(_ client: FeedClient, _ reloads: ReloadCache, maxHistoryBytes: Int) {
    self.client = client
    self.reloads = reloads
    state = Mutex(State(history: ChangesetHistory(limit: maxHistoryBytes)))
    (untoldSignals, untoldSignal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// Sends what the client tells, until it ends; then it can be reset, and sent from again.
  ///
  /// - Throws: `FeedClientError` if the client fails.
  func send() async throws {
    // What waits here is bounded by the options; feeds that change faster are told by their state.
    let options = SubscriptionOptions(slowPolicy: .coalesces, maximumUpdates: 4096, hasSnapshots: false)
    for try await update in client.updates(options) { deliver(update) }
  }

  /// Ends all streams, and forgets what was sent. To be called when the client was reset: a reader that comes in
  /// between finds nothing there, and is ended, too.
  func reset(reason: String) {
    let feeds = state.withLock { state in
      state.history.removeAll()
      return Array(state.feeds.keys)
    }
    for feed in feeds { end(feed, telling: StreamNotice.mustRefetch(feed, reason: reason)) }
  }

  // MARK: Readers

  /// Takes a reader in.
  ///
  /// - Parameter version: what it has already; nil for nothing.
  func add(_ stream: EventStream, to feed: ByteText, after version: FeedVersion?) {
    let (number, isLagging) = state.withLock { state in
      var reader = StreamReader(stream)
      // Asked under the lock: what was delivered before is in it, and what comes later is for the reader.
      let current = client.description(of: feed.string)
      if let version, let current, current.standing >= .catchingUp {
        if let missed = state.history.changesets(of: feed, after: version) {
          // What was delivered is in the history, and the rest is yet to come.
          reader.resume(after: version, position: 0, missed: missed)
        } else if FeedVersion(current) == version {
          reader.resume(after: version, position: current.position, missed: [])
        }
      }
      let number = state.nextNumber
      state.nextNumber += 1
      state.feeds[feed, default: StreamedFeed()].readers[number] = reader
      state.untold.insert(feed)
      return (number, reader.isLagging)
    }
    stream.onEnd { [weak self] _ in self?.remove(number, of: feed) }
    if isLagging { sendStateWhenDrained(to: [(number, stream)], of: feed) }
    untoldSignal.yield()
  }

  private func remove(_ number: Int, of feed: ByteText) {
    state.withLock { state in
      state.feeds[feed]?.readers[number] = nil
      if state.feeds[feed]?.readers.isEmpty == true { state.feeds[feed] = nil }
    }
  }

  // MARK: Changes

  /// Sends what the client tells of a feed.
  func deliver(_ update: FeedUpdate) {
    let feed = ByteText(update.feed)
    let current = client.description(of: update.feed)
    switch update {
    case .changed(let changeset, _):
      // Of an id that two partitions have, the lower partition's feed is served.
      if current.map({ $0.partition < changeset.partition }) != true {
        deliver(StreamedChangeset(changeset), of: feed)
      }
    case .present(let content, _):
      if current.map({ $0.partition < content.description.partition }) != true {
        jump(to: content.description, of: feed)
      }
    case .mustRefetch(_, let reason):
      if current.map({ $0.standing == .mustRefetch }) != false {
        deliver(StreamNotice.mustRefetch(feed, reason: reason), of: feed)
      } else {
        // Its reload has come meanwhile, and is the next update.
        change(feed) { history, streamed in
          history.removeAll(of: feed)
          streamed.breaks += 1
        }
      }
    case .absent(_, let changeset?):
      let epoch = current?.epoch
      deliver(ServerSentEvent(data: changeset).encoded(), of: feed) { $0.version?.epoch != epoch }
    // Why is not known: its partition went, or was made anew. Whoever comes again begins with what there is.
    case .absent(_, nil): end(feed)
    }
  }

  private func deliver(_ changeset: StreamedChangeset, of feed: ByteText) {
    // Encoded before the lock is taken.
    if state.withLock({ $0.feeds[feed] != nil }) { _ = changeset.events }
    change(feed) { history, streamed in
      history.append(changeset, of: feed)
      streamed.newest = changeset.offset
      for number in streamed.readers.keys { streamed.readers[number]?.take(changeset) }
    }
  }

  /// Sends a message after which the feed's next changeset is one that follows on nothing.
  private func deliver(
    _ event: EncodedEvent,
    of feed: ByteText,
    to isMeant: (StreamReader) -> Bool = { _ in true }
  ) {
    change(feed) { history, streamed in
      history.removeAll(of: feed)
      streamed.breaks += 1
      for (number, reader) in streamed.readers where isMeant(reader) {
        streamed.readers[number]?.tell(event)
      }
    }
  }

  /// The feed came to a version by changesets that were not told one by one.
  private func jump(to description: FeedDescription, of feed: ByteText) {
    let version = FeedVersion(description)
    change(feed) { history, streamed in
      history.removeAll(of: feed)
      streamed.newest = description.position - 1
      for number in streamed.readers.keys {
        streamed.readers[number]?.jump(to: version, position: description.position)
      }
    }
  }

  /// Changes a feed's readers, and sees to those who lag since then.
  private func change(_ feed: ByteText, _ body: (inout ChangesetHistory, inout StreamedFeed) -> Void) {
    let lagging = state.withLock { state -> [(Int, EventStream)]? in
      var streamed = state.feeds.removeValue(forKey: feed) ?? StreamedFeed()
      let before = Set(streamed.readers.lazy.filter(\.value.isLagging).map(\.key))
      body(&state.history, &streamed)
      guard !streamed.readers.isEmpty else { return nil }
      state.feeds[feed] = streamed
      state.untold.insert(feed)
      return streamed.readers.filter { $0.value.isLagging && !before.contains($0.key) }
        .map { ($0.key, $0.value.stream) }
    }
    guard let lagging else { return }
    sendStateWhenDrained(to: lagging, of: feed)
    untoldSignal.yield()
  }

  // MARK: State

  private func sendStateWhenDrained(to readers: [(number: Int, stream: EventStream)], of feed: ByteText) {
    for (number, stream) in readers {
      let isWaiting = stream.notifyWhenDrained { [weak self] in self?.sendState(to: number, stream, of: feed)
      }
      if !isWaiting { sendState(to: number, stream, of: feed) }
    }
  }

  private enum Sending {
    case sent
    /// The feed has changed since the state was made, and how is not known.
    case isOld
    case isGone
  }

  /// Sends a reader that lags the feed as it is now. O(n) for n elements if nobody else is being sent it.
  private func sendState(to number: Int, _ stream: EventStream, of feed: ByteText) {
    for _ in 0..<Self.attempts {
      guard let breaks = state.withLock({ $0.feeds[feed]?.breaks }) else { return }
      guard let current = reloads.current(of: feed) else { return endOne(stream, feed) }
      guard reloads.makeRoom(for: current.reload) else {
        return endOne(stream, feed, reason: "too many bytes are queued for readers")
      }
      switch send(current, after: breaks, to: number, of: feed) {
      case .sent:
        untoldSignal.yield()
        return
      case .isGone: return endOne(stream, feed)
      case .isOld: continue
      }
    }
    endOne(stream, feed, reason: "the feed changes faster than it can be sent as a whole")
  }

  private func send(
    _ current: ReloadCache.Current,
    after breaks: Int,
    to number: Int,
    of feed: ByteText
  ) -> Sending {
    state.withLock { state in
      guard let streamed = state.feeds[feed], var reader = streamed.readers[number], reader.isLagging
      else { return .sent }
      guard let description = client.description(of: feed.string), description.standing != .bootstrapping
      else { return .isGone }
      if description.standing == .mustRefetch {
        reader.waitForReload(
          telling: StreamNotice.mustRefetch(feed, reason: "changesets of the feed are missing")
        )
      } else if streamed.breaks != breaks {
        return .isOld
      } else if streamed.newest < current.position {
        reader.take(current.reload, position: current.position, missed: [])
      } else if let missed = state.history.changesets(of: feed, after: current.reload.version) {
        // All that was delivered is in the history.
        reader.take(current.reload, position: 0, missed: missed)
      } else {
        return .isOld
      }
      state.feeds[feed]?.readers[number] = reader
      state.untold.insert(feed)
      return .sent
    }
  }

  // MARK: Ends

  /// Ends the streams of feeds that are another instance's now.
  func move(_ feeds: [(feed: ByteText, partition: Int32)], to url: (Int32) -> String?) {
    for (feed, partition) in feeds {
      end(feed, telling: StreamNotice.moved(feed, partition: partition, url: url(partition)))
    }
  }

  /// Ends the streams of a feed that is gone.
  private func end(_ feed: ByteText) {
    end(feed, telling: StreamNotice.mustRefetch(feed, reason: Self.absence))
  }

  private func end(_ feed: ByteText, telling event: EncodedEvent) {
    let streams = state.withLock { state in
      state.history.removeAll(of: feed)
      return state.feeds.removeValue(forKey: feed)?.readers.values.map(\.stream) ?? []
    }
    for stream in streams {
      // Whoever has more waiting is told this instead, as it begins anew in any case.
      if stream.write(event) == .full { stream.replaceQueued(with: event) }
      stream.close()
    }
  }

  private func endOne(_ stream: EventStream, _ feed: ByteText, reason: String = absence) {
    stream.replaceQueued(with: StreamNotice.mustRefetch(feed, reason: reason))
    stream.close()
  }

  private static let absence = "the feed no longer exists"

  // MARK: Up to date

  /// Tells readers that everything was sent, once that is so, until the task is cancelled. A partition's end is told
  /// some time after its last changeset, and of one that nobody waits for nobody need be told.
  func tellWhoIsUpToDate() async {
    for await _ in untoldSignals {
      while case let feeds = state.withLock({ $0.untold }), !feeds.isEmpty, !Task.isCancelled {
        for feed in feeds { tellUpToDate(feed) }
        guard state.withLock({ !$0.untold.isEmpty }) else { break }
        try? await Task.sleep(for: .milliseconds(Self.lookMilliseconds))
      }
    }
  }

  private func tellUpToDate(_ feed: ByteText) {
    let full = state.withLock { state -> [(Int, EventStream)] in
      let description = client.description(of: feed.string)
      guard let description, description.standing >= .catchingUp, var streamed = state.feeds[feed] else {
        // It is told of what comes next.
        state.untold.remove(feed)
        return []
      }
      guard description.standing == .upToDate else { return [] }
      let version = FeedVersion(description)
      let notice = StreamNotice.upToDate(feed, version)
      var isTold = true
      var full: [(Int, EventStream)] = []
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
      state.feeds[feed] = streamed
      if isTold { state.untold.remove(feed) }
      return full
    }
    for (number, stream) in full {
      let isWaiting = stream.notifyWhenDrained { [weak self] in self?.tellAgain(number, of: feed) }
      if !isWaiting { tellAgain(number, of: feed) }
    }
  }

  private func tellAgain(_ number: Int, of feed: ByteText) {
    // Since it was full it may have begun to lag, and lost what was asked for at its end by asking for this.
    let lagging = state.withLock { state -> EventStream? in
      guard let reader = state.feeds[feed]?.readers[number] else { return nil }
      if reader.isLagging { return reader.stream }
      state.feeds[feed]?.readers[number]?.isToldUpToDate = false
      state.untold.insert(feed)
      return nil
    }
    if let lagging { sendState(to: number, lagging, of: feed) }
    untoldSignal.yield()
  }
}
