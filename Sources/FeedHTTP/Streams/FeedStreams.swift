import Feed
import FeedClient
import Service
import Synchronization

/// The open streams of changes.
///
/// A reader starts with the feed's state or with the changesets that it missed, and then receives each changeset once.
/// A reader that is too slow *lags*: it receives nothing until its queue is empty, and then the feed's current state.
/// This bounds the memory that it uses.
///
/// This is a shell around ``StreamDelivery``, which decides. The lock is held for one changeset and the readers of its
/// feed. Nothing is written or encoded under it, and the store's thread never takes it.
final class FeedStreams: Sendable {
  private let client: FeedClient
  private let reloads: ReloadCache
  private let delivery: Mutex<StreamDelivery>
  /// Signals that a reader may need an event that it is up to date.
  private let noticeSignals: AsyncStream<Void>
  private let noticeSignal: AsyncStream<Void>.Continuation

  /// How often the end of a partition is polled, in milliseconds, while a reader waits for it.
  private static let lookMilliseconds = 20
  /// How often a state is encoded for a reader before the reader must reconnect.
  private static let attempts = 5

  init(_ client: FeedClient, _ reloads: ReloadCache, maxHistoryBytes: Int) {
    self.client = client
    self.reloads = reloads
    delivery = Mutex(StreamDelivery(maxHistoryBytes: maxHistoryBytes))
    (noticeSignals, noticeSignal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// Delivers the client's updates until they end. After a reset it can be called again.
  ///
  /// - Throws: `FeedClientError` if the client fails.
  func send() async throws {
    // The options limit the queue. A feed that changes faster is delivered as its state.
    let options = SubscriptionOptions(
      slowPolicy: .coalesces,
      maximumUpdates: 4096,
      hasSnapshots: false,
      hasDifferences: false
    )
    for try await update in client.updates(options) { deliver(update) }
  }

  /// Ends all streams and drops the history. Call it after the client was reset: a reader that connects in between
  /// finds no feed, and its stream ends as well.
  func reset(reason: String) {
    let feeds = delivery.withLock { $0.reset() }
    for feed in feeds { end(feed, telling: StreamNotice.mustRefetch(feed, reason: reason)) }
  }

  private func description(of feed: FeedAddress) -> FeedDescription? {
    client.description(of: feed.id.string, in: feed.partition)
  }

  // MARK: Readers

  /// Adds a reader.
  ///
  /// - Parameters:
  ///   - others: further partitions that have a feed of the same id.
  ///   - version: the version that it has; nil for none.
  func add(
    _ stream: EventStream,
    to feed: FeedAddress,
    besides others: [Int32] = [],
    after version: FeedVersion?
  ) {
    if !others.isEmpty { _ = stream.write(StreamNotice.otherPartitions(feed, others)) }
    let (number, isLagging) = delivery.withLock {
      // Read under the lock: it includes everything delivered so far, and later changesets go to the reader.
      $0.add(stream, to: feed, after: version, current: description(of: feed))
    }
    stream.onEnd { [weak self] in self?.delivery.withLock { $0.remove(number, of: feed) } }
    if isLagging { sendStateWhenDrained(to: [(number, stream)], of: feed) }
    noticeSignal.yield()
  }

  /// Whether a reader that reconnects can get the event that the feed was deleted.
  func hasDeletion(of feed: FeedAddress, after version: FeedVersion) -> Bool {
    delivery.withLock { $0.hasDeletion(of: feed, after: version) }
  }

  // MARK: Changes

  /// Delivers one update from the client.
  func deliver(_ update: FeedUpdate) {
    let feed = update.address
    let step = StreamStep(update, current: description(of: feed))
    switch step {
    // A reader that reconnects starts with the current state.
    case .end: return end(feed)
    case .changeset(let changeset):
      // Encoded before the lock is taken.
      if delivery.withLock({ $0.isRead(feed) }) { _ = changeset.events }
    case .jump, .notice, .deletion, .forget: break
    }
    guard let lagging = delivery.withLock({ $0.take(step, of: feed) }) else { return }
    sendStateWhenDrained(to: lagging, of: feed)
    noticeSignal.yield()
  }

  // MARK: State

  private func sendStateWhenDrained(to readers: [StreamDelivery.Numbered], of feed: FeedAddress) {
    for (number, stream) in readers {
      whenDrained(stream) { $0.sendState(to: number, stream, of: feed) }
    }
  }

  /// Calls the body when the stream's queue is empty, which may be now.
  private func whenDrained(_ stream: EventStream, _ body: @escaping @Sendable (FeedStreams) -> Void) {
    let isWaiting = stream.notifyWhenDrained { [weak self] in self.map(body) }
    if !isWaiting { body(self) }
  }

  /// Sends a lagging reader the feed's current state. O(n) for n elements, unless this version is cached or being sent.
  private func sendState(to number: Int, _ stream: EventStream, of feed: FeedAddress) {
    for _ in 0..<Self.attempts {
      guard let breaks = delivery.withLock({ $0.breaks(of: feed) }) else { return }
      guard let current = reloads.current(of: feed) else { return endOne(stream, feed) }
      guard reloads.makeRoom(for: current.reload) else {
        return endOne(stream, feed, reason: "too many bytes are queued for readers")
      }
      let sending = delivery.withLock {
        $0.send(
          current,
          after: breaks,
          to: number,
          of: feed,
          current: description(of: feed)
        )
      }
      switch sending {
      case .sent:
        noticeSignal.yield()
        return
      case .isGone: return endOne(stream, feed)
      case .isOld: continue
      }
    }
    endOne(stream, feed, reason: "the feed changes faster than it can be sent as a whole")
  }

  // MARK: Ends

  /// Ends the streams of feeds that moved to another instance.
  func move(_ feeds: [(feed: ByteText, partition: Int32)], to url: (Int32) -> String?) {
    for (feed, partition) in feeds {
      let notice = StreamNotice.moved(feed, partition: partition, url: url(partition))
      end(FeedAddress(partition, feed), telling: notice)
    }
  }

  /// Ends the streams of a feed that no longer exists.
  private func end(_ feed: FeedAddress) {
    end(feed, telling: StreamNotice.mustRefetch(feed, reason: Self.absence))
  }

  private func end(_ feed: FeedAddress, telling event: EncodedEvent) {
    for stream in delivery.withLock({ $0.end(feed) }) {
      // If the queue is full, the notice replaces it: the reader starts over in any case.
      if stream.write(event) == .full { stream.replaceQueued(with: event) }
      stream.close()
    }
  }

  private func endOne(_ stream: EventStream, _ feed: FeedAddress, reason: String = absence) {
    stream.replaceQueued(with: StreamNotice.mustRefetch(feed, reason: reason))
    stream.close()
  }

  private static let absence = "the feed no longer exists"

  // MARK: Up to date

  /// Tells readers when they have received everything, until the task is cancelled. The end of a partition is known
  /// some time after its last changeset, and only partitions with a waiting reader are checked.
  func sendUpToDateNotices() async {
    for await _ in noticeSignals {
      while case let feeds = delivery.withLock({ $0.awaitingNotice }), !feeds.isEmpty, !Task.isCancelled {
        for feed in feeds { sendUpToDate(feed) }
        guard delivery.withLock({ !$0.awaitingNotice.isEmpty }) else { break }
        try? await Task.sleep(for: .milliseconds(Self.lookMilliseconds))
      }
    }
  }

  private func sendUpToDate(_ feed: FeedAddress) {
    delivery.withLock {
      $0.sendUpToDate(feed, current: description(of: feed), standing: client.standing)
    }
  }
}
