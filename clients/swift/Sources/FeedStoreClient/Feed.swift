import Foundation

/// A feed, or a window of it, that a program shows. It is followed while there is a listener.
public final class Feed: Sendable {
  public let id: FeedID
  let core: StoreCore
  let handle: HandleID
  let sink: FeedSink

  init(_ id: FeedID, core: StoreCore, handle: HandleID, sink: FeedSink) {
    (self.id, self.core, self.handle, self.sink) = (id, core, handle, sink)
  }

  deinit { core.remove(handle) }

  /// The newest view. It changes only while there is a listener.
  public var view: FeedView { sink.view }

  /// The feed's updates, for `for await update in feed.updates`. The first one is the present state, if there is one. Each loop is
  /// a listener of its own; it ends with the task, or when it is left.
  public var updates: FeedUpdates { FeedUpdates(feed: self) }

  /// Calls a closure for each update, one after the other, until the subscription is cancelled or released.
  public func subscribe(_ listener: @escaping @Sendable (FeedUpdate) async -> Void) -> FeedSubscription {
    let updates = updates
    return FeedSubscription(task: Task { for await update in updates { await listener(update) } })
  }

  /// Shows another window. The view stays as it is until the window's state arrives.
  public func show(_ window: FeedWindow) { core.run { $0.show(handle, window) } }

  /// Writes events, as one record: all of it is applied or nothing. What is simple is shown at once, as pending.
  ///
  /// - Parameters:
  ///   - wait: For how many seconds to wait for the outcome, at most 30.
  ///   - condition: The conditions of the write. If they do not hold, `WriteRejected` has the code `condition-failed`, and says what is there.
  ///   - key: A later write with the same key takes the place of one that was not sent yet, for example of a slider.
  /// - Throws: `WriteRejected` if the record changed nothing, and `WriteFailed` if that is not known. The view does not show the write
  ///   any more then.
  @discardableResult
  public func write(
    _ events: FeedEvent...,
    wait: Int = 10,
    if condition: FeedCondition? = nil,
    coalescing key: String? = nil
  ) async throws -> Written {
    try await write(events, wait: wait, if: condition, coalescing: key)
  }

  @discardableResult
  public func write(
    _ events: [FeedEvent],
    wait: Int = 10,
    if condition: FeedCondition? = nil,
    coalescing key: String? = nil
  ) async throws -> Written {
    var events = events.isEmpty ? [FeedEvent(json: "[]")] : events
    if let condition { events[0] = events[0].with(condition) }
    guard let written = try await core.write(id, wait: wait, key: key, { [events] _ in events }) else {
      throw WriteFailed(message: "there is nothing to write", wasSent: false)
    }
    return written
  }

  /// The content that is shown now, to edit and to `apply`.
  public var snapshot: FeedSnapshot { FeedSnapshot(view) }

  /// Makes the feed as a snapshot says: writes the difference from what is shown now, with the fewest moves, and shows it at once.
  ///
  /// - Returns: nil if there is no difference.
  /// - Throws: `SnapshotError` if the feed is not shown as a whole, or is stale; otherwise as `write` does.
  @discardableResult
  public func apply(_ snapshot: FeedSnapshot, wait: Int = 10) async throws -> Written? {
    try await core.write(id, wait: wait) { try $0.difference(handle, snapshot) }
  }
}

/// Ends with `cancel()`, and when it is released.
public final class FeedSubscription: Sendable {
  private let task: Task<Void, Never>

  init(task: Task<Void, Never>) { self.task = task }
  deinit { task.cancel() }

  public func cancel() { task.cancel() }
}

/// The updates of a feed.
public struct FeedUpdates: AsyncSequence, Sendable {
  let feed: Feed

  public func makeAsyncIterator() -> Iterator { Iterator(feed) }

  public final class Iterator: AsyncIteratorProtocol, Sendable {
    private let feed: Feed
    private let mailbox = Mailbox()

    init(_ feed: Feed) {
      self.feed = feed
      feed.core.listen(feed.handle, feed.sink, mailbox)
    }

    deinit {
      mailbox.close()
      feed.core.unlisten(feed.handle, feed.sink, mailbox)
    }

    public func next() async -> FeedUpdate? { await mailbox.next() }
  }
}

/// The view of a `Feed`, and its listeners. All but `view` is called with the lock of the core.
final class FeedSink: @unchecked Sendable {
  private let lock = NSLock()
  private var newest: FeedView
  private var mailboxes: [Mailbox] = []

  init(_ view: FeedView) { newest = view }

  var view: FeedView { lock.withLock { newest } }

  func show(_ update: FeedUpdate) {
    lock.withLock { newest = update.view }
    for mailbox in mailboxes { mailbox.deliver(update) }
  }

  func add(_ mailbox: Mailbox, isAbsent: Bool) {
    mailboxes.append(mailbox)
    if newest.exists || isAbsent {
      mailbox.deliver(FeedUpdate(kind: isAbsent ? .absent : .state, view: newest))
    }
  }

  func close() { for mailbox in mailboxes { mailbox.close() } }

  /// Whether it was there.
  func remove(_ mailbox: Mailbox) -> Bool {
    guard let index = mailboxes.firstIndex(where: { $0 === mailbox }) else { return false }
    mailboxes.remove(at: index)
    return true
  }
}
