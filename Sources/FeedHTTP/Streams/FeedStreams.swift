import Feed
import FeedClient
import Service
import Synchronization

/// The open streams of changes.
///
/// A reader begins with the feed's state or with what it missed, and then gets each changeset once. One that is
/// too slow *lags*: it gets nothing until it has taken its queued events, and then the feed's state by then, so
/// that what it costs is bounded.
///
/// It is a shell around ``StreamDelivery``, which decides. The lock is held for one changeset and the readers of its
/// feed; nothing is written or encoded under it. The store's thread never takes it.
final class FeedStreams: Sendable {
  private let client: FeedClient
  private let reloads: ReloadCache
  private let delivery: Mutex<StreamDelivery>
  /// Has something when somebody may have to be told that it is up to date.
  private let untoldSignals: AsyncStream<Void>
  private let untoldSignal: AsyncStream<Void>.Continuation

  /// How often it is looked whether a partition's end was reached, in milliseconds, while somebody waits for it.
  private static let lookMilliseconds = 20
  /// How often a state is made for a reader before it is asked to come again.
  private static let attempts = 5

  init(_ client: FeedClient, _ reloads: ReloadCache, maxHistoryBytes: Int) {
    self.client = client
    self.reloads = reloads
    delivery = Mutex(StreamDelivery(maxHistoryBytes: maxHistoryBytes))
    (untoldSignals, untoldSignal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// Sends what the client tells, until it ends; then it can be reset, and sent from again.
  ///
  /// - Throws: `FeedClientError` if the client fails.
  func send() async throws {
    // The options bound the queue; a feed that changes faster is sent as its state.
    let options = SubscriptionOptions(slowPolicy: .coalesces, maximumUpdates: 4096, hasSnapshots: false)
    for try await update in client.updates(options) { deliver(update) }
  }

  /// Ends all streams, and forgets what was sent. To be called when the client was reset: a reader that comes in
  /// between finds nothing there, and is ended, too.
  func reset(reason: String) {
    let feeds = delivery.withLock { $0.reset() }
    for feed in feeds { end(feed, telling: StreamNotice.mustRefetch(feed, reason: reason)) }
  }

  // MARK: Readers

  /// Takes a reader in.
  ///
  /// - Parameter version: what it has already; nil for nothing.
  func add(_ stream: EventStream, to feed: ByteText, after version: FeedVersion?) {
    let (number, isLagging) = delivery.withLock {
      // Asked under the lock: what was delivered before is in it, and what comes later is for the reader.
      $0.add(stream, to: feed, after: version, current: client.description(of: feed.string))
    }
    stream.onEnd { [weak self] _ in self?.delivery.withLock { $0.remove(number, of: feed) } }
    if isLagging { sendStateWhenDrained(to: [(number, stream)], of: feed) }
    untoldSignal.yield()
  }

  // MARK: Changes

  /// Sends what the client tells of a feed.
  func deliver(_ update: FeedUpdate) {
    let feed = ByteText(update.feed)
    let step = StreamStep(update, current: client.description(of: update.feed))
    switch step {
    case .pass: return
    // Whoever comes again begins with what there is.
    case .end: return end(feed)
    case .changeset(let changeset):
      // Encoded before the lock is taken.
      if delivery.withLock({ $0.isRead(feed) }) { _ = changeset.events }
    case .jump, .notice, .forget: break
    }
    guard let lagging = delivery.withLock({ $0.take(step, of: feed) }) else { return }
    sendStateWhenDrained(to: lagging, of: feed)
    untoldSignal.yield()
  }

  // MARK: State

  private func sendStateWhenDrained(to readers: [StreamDelivery.Numbered], of feed: ByteText) {
    for (number, stream) in readers {
      let isWaiting = stream.notifyWhenDrained { [weak self] in self?.sendState(to: number, stream, of: feed)
      }
      if !isWaiting { sendState(to: number, stream, of: feed) }
    }
  }

  /// Sends a reader that lags the feed as it is now. O(n) for n elements if nobody else is being sent it.
  private func sendState(to number: Int, _ stream: EventStream, of feed: ByteText) {
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
          current: client.description(of: feed.string)
        )
      }
      switch sending {
      case .sent:
        untoldSignal.yield()
        return
      case .isGone: return endOne(stream, feed)
      case .isOld: continue
      }
    }
    endOne(stream, feed, reason: "the feed changes faster than it can be sent as a whole")
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
    for stream in delivery.withLock({ $0.end(feed) }) {
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
      while case let feeds = delivery.withLock({ $0.untold }), !feeds.isEmpty, !Task.isCancelled {
        for feed in feeds { tellUpToDate(feed) }
        guard delivery.withLock({ !$0.untold.isEmpty }) else { break }
        try? await Task.sleep(for: .milliseconds(Self.lookMilliseconds))
      }
    }
  }

  private func tellUpToDate(_ feed: ByteText) {
    let full = delivery.withLock { $0.tellUpToDate(feed, current: client.description(of: feed.string)) }
    for (number, stream) in full {
      let isWaiting = stream.notifyWhenDrained { [weak self] in self?.tellAgain(number, of: feed) }
      if !isWaiting { tellAgain(number, of: feed) }
    }
  }

  private func tellAgain(_ number: Int, of feed: ByteText) {
    // Since it was full it may have begun to lag, and lost what was asked for at its end by asking for this.
    if let lagging = delivery.withLock({ $0.tellAgain(number, of: feed) }) {
      sendState(to: number, lagging, of: feed)
    }
    untoldSignal.yield()
  }
}
