import Changesets
import Feed
import Synchronization

/// The followed partitions and their subscribers, shared by the reading thread and the subscribers.
///
/// One lock protects all variables. It is held while one record is applied, one update is taken, or the feeds of one partition
/// are listed. No code awaits while it holds the lock.
///
/// Unchecked: the variables are used under the lock only, and no reference to a partition leaves this type.
package final class Subscriptions: @unchecked Sendable {
  let topic: String
  /// The feeds to follow; nil for all.
  let kept: Set<ByteText>?
  private let lock = Mutex<Void>(())

  var followed: [Int32: FollowedPartition] = [:]
  /// The ids that exist in several partitions.
  var sharedIDs = SharedIDs()
  /// Workers' replicas of partitions that may be followed next.
  var adopted: [Int32: ReadPartition] = [:]
  /// Whether `followed` reflects the request; false until the first partitions are open.
  var isOpen = false
  var currentStanding = FeedStanding.bootstrapping
  var standingWatchers: [Int: AsyncStream<FeedStanding>.Continuation] = [:]

  var subscribers: [Int: Subscriber] = [:]
  /// Subscribers by requested feed, and the subscribers of all feeds.
  var listeners: [ByteText: Set<Int>] = [:]
  var listenersToAll: Set<Int> = []
  /// Subscribers with the policy `pausesReading`.
  var pausing: Set<Int> = []
  /// The number of subscribers that receive changesets before their partition's end is reached.
  var historyCount = 0
  /// The number of subscribers whose changesets contain differences.
  var differenceCount = 0
  private var nextNumber = 0
  /// The number of readers of each window, by feed.
  private(set) var openWindows: [ByteText: [FeedWindow: Int]] = [:]
  private var openWindowCount = 0

  var request = Request.none
  /// The most recently requested partitions; nil for all.
  private var wanted: Set<Int32>?
  private var readerWaiter: CheckedContinuation<Void, Never>?
  var end: End?
  /// The end of the run before the last ``reset()``. Subscriptions from before that reset end the same way.
  private var endBefore = End.stopped

  /// A request to the reader.
  enum Request: Sendable, Equatable {
    case none
    /// Follow these partitions, or all if nil.
    case follow(Set<Int32>?)
    case stop
  }

  /// How reading ended.
  enum End {
    case stopped
    case failed(FeedClientError)
  }

  struct Subscriber {
    /// The requested feeds; nil for all.
    let feeds: Set<ByteText>?
    var mailbox: Mailbox
    var waiter: CheckedContinuation<Void, Never>?
  }

  /// The answer to a subscriber that asks for its next update.
  enum Delivery {
    case update(FeedUpdate)
    case nothingYet
    case ended(FeedClientError?)
  }

  init(topic: String = "", partitions: Set<Int32>?, keeping kept: Set<ByteText>? = nil) {
    self.topic = topic
    self.kept = kept
    wanted = partitions
    request = .follow(partitions)
  }

  func locked<Result: Sendable>(_ body: () -> Result) -> Result { lock.withLock { _ in body() } }

  // MARK: Requests

  /// Sends a request to the reader. No request follows a request to stop.
  func ask(_ new: Request) {
    locked {
      if case .follow(let partitions) = new { wanted = partitions }
      guard request != .stop else { return }
      request = new
      wakeReader()
    }
  }

  private func wakeReader() {
    readerWaiter?.resume()
    readerWaiter = nil
  }

  /// Waits until the queues have room or a request arrives.
  func waitForRoom() async {
    await withCheckedContinuation { continuation in
      locked {
        if isFull, request == .none {
          readerWaiter = continuation
        } else {
          continuation.resume()
        }
      }
    }
  }

  /// Discards all feeds and subscribers, to read the most recently requested partitions from their beginning. The
  /// previous run must have ended.
  func reset() {
    locked {
      guard let end else { preconditionFailure("a client is reset once it has ended") }
      endBefore = end
      self.end = nil
      followed = [:]
      sharedIDs = SharedIDs()
      adopted = [:]
      isOpen = false
      currentStanding = .bootstrapping
      subscribers = [:]
      listeners = [:]
      listenersToAll = []
      pausing = []
      historyCount = 0
      differenceCount = 0
      request = .follow(wanted)
    }
  }

  // MARK: Feeds

  var standing: FeedStanding { locked { currentStanding } }

  /// Lists the known feeds by partition, and within a partition by the bytes of their ids.
  func collect<Element: Sendable>(_ list: @Sendable (FollowedPartition) -> [Element]) -> [Element] {
    locked { followed.keys.sorted() }.flatMap { number in
      // Takes the lock once for each partition, so that the reader can run in between.
      locked { followed[number].map(list) ?? [] }
    }
  }

  var partitions: [PartitionDescription] {
    locked {
      followed.values.map {
        PartitionDescription(number: $0.number, position: $0.position, standing: $0.standing)
      }
    }.sorted { $0.number < $1.number }
  }

  func partitions(of feed: ByteText) -> [Int32] { locked { numbers(of: feed) } }

  private func numbers(of feed: ByteText) -> [Int32] {
    followed.values.lazy.filter { $0.hasReplica(of: feed) }.map(\.number).sorted()
  }

  /// The partition of a feed, or the lowest one that has it.
  private func partition(of feed: FeedAddress) -> FollowedPartition? {
    (feed.partition ?? numbers(of: feed.id).first).flatMap { followed[$0] }
  }

  func description(of feed: FeedAddress) -> FeedDescription? {
    locked { partition(of: feed)?.description(of: feed.id) }
  }

  func content(of feed: FeedAddress) -> FeedContent? {
    locked { partition(of: feed)?.content(of: feed.id) }
  }

  // MARK: Windows

  /// Opens the windows of views, so that changesets of their feeds, in any partition, contain their changes
  /// (``FeedChangeset/windows``), until each is closed as often.
  package func open(_ views: [ViewAddress]) {
    locked { for view in views { addWindow(view.window, of: view.feed.id) } }
  }

  package func close(_ views: [ViewAddress]) {
    locked { for view in views { removeWindow(view.window, of: view.feed.id) } }
  }

  private func addWindow(_ window: FeedWindow?, of feed: ByteText) {
    guard let window else { return }
    if openWindows[feed]?[window] == nil { openWindowCount += 1 }
    openWindows[feed, default: [:]][window, default: 0] += 1
  }

  private func removeWindow(_ window: FeedWindow?, of feed: ByteText) {
    guard let window, let count = openWindows[feed]?[window] else { return }
    openWindows[feed]?[window] = count > 1 ? count - 1 : nil
    if openWindows[feed]?.isEmpty == true { openWindows[feed] = nil }
    guard count == 1 else { return }
    openWindowCount -= 1
    for partition in followed.values { partition.close(window, of: feed) }
  }

  /// The number of distinct open windows, if some more views' windows were open.
  package func windowCount(with views: [ViewAddress] = []) -> Int {
    locked {
      let new = views.filter { view in view.window.map { openWindows[view.feed.id]?[$0] == nil } ?? false }
      return openWindowCount + Set(new).count
    }
  }

  /// The standing of a view with an open window; nil if the feed does not exist.
  ///
  /// - Parameter withTotals: whether to write the totals too, in O(n) for the n shown sections.
  package func standing(of view: ViewAddress, withTotals: Bool = false) -> ViewStanding? {
    locked { partition(of: view.feed)?.standing(of: view, withTotals: withTotals) }
  }

  /// The current content of a view as one changeset of mode `reload` (JSON in UTF-8), and the feed's description; nil
  /// if the feed does not exist. O(n) for the n shown elements.
  package func reload(of view: ViewAddress) -> (text: [UInt8], description: FeedDescription)? {
    if let window = view.window {
      let encoded: (text: [UInt8], description: FeedDescription)? = locked {
        guard let content = partition(of: view.feed)?.content(of: view.feed.id),
          window.extent != .all || content.description.itemCount <= Self.itemsEncodedUnderLock
        else { return nil }
        return (content.reloadDocument(window), content.description)
      }
      if let encoded { return encoded }
    }
    // The reader continues meanwhile, and may have to copy the feed.
    return content(of: view.feed).map { ($0.reloadDocument(view.window), $0.description) }
  }

  /// Larger feeds are encoded without blocking the reader.
  private static let itemsEncodedUnderLock = 10_000

  /// Messages about ids that exist in several partitions, once all partitions are known.
  func takeSharedIDs() -> [String] { locked { areKnown ? sharedIDs.takeNews() : [] } }

  /// The number of ids that exist in several followed partitions.
  package var sharedIDCount: Int { locked { sharedIDs.count } }

  /// Whether all partitions have been read to their ends once.
  var areKnown: Bool { isOpen && followed.values.allSatisfy(\.isBootstrapped) }

  /// Whether the feed exists or has a recorded loss.
  func isKnown(_ feed: ByteText) -> Bool {
    followed.values.contains { $0.reasonForLoss(of: feed) != nil || $0.hasReplica(of: feed) }
  }

  // MARK: Subscribers

  /// Adds a subscriber and queues the current state of its feeds.
  ///
  /// - Parameter feeds: nil for all.
  func subscribe(to feeds: Set<ByteText>?, _ options: SubscriptionOptions) -> Int {
    locked {
      let number = takeNumber()
      var mailbox = Mailbox(options)
      if !options.beginsWithHistory {
        for partition in followed.values.sorted(by: { $0.number < $1.number })
        where partition.isBootstrapped {
          for feed in partition.feeds where feeds?.contains(feed) != false {
            mailbox.addNewest(FeedAddress(partition.number, feed))
          }
        }
        if areKnown {
          for feed in feeds ?? [] where !isKnown(feed) { mailbox.addNewest(FeedAddress(nil, feed)) }
        }
      }
      subscribers[number] = Subscriber(feeds: feeds, mailbox: mailbox)
      if let feeds {
        for feed in feeds { listeners[feed, default: []].insert(number) }
      } else {
        listenersToAll.insert(number)
      }
      if options.slowPolicy == .pausesReading { pausing.insert(number) }
      if options.beginsWithHistory { historyCount += 1 }
      if options.needsDifferences { differenceCount += 1 }
      for feed in feeds ?? [] { addWindow(options.window, of: feed) }
      return number
    }
  }

  /// Returns a number that was never used.
  private func takeNumber() -> Int {
    defer { nextNumber += 1 }
    return nextNumber
  }

  func unsubscribe(_ number: Int) {
    locked {
      guard let subscriber = subscribers.removeValue(forKey: number) else { return }
      for feed in subscriber.feeds ?? [] {
        listeners[feed]?.remove(number)
        if listeners[feed]?.isEmpty == true { listeners[feed] = nil }
      }
      listenersToAll.remove(number)
      pausing.remove(number)
      if subscriber.mailbox.options.beginsWithHistory { historyCount -= 1 }
      if subscriber.mailbox.options.needsDifferences { differenceCount -= 1 }
      for feed in subscriber.feeds ?? [] { removeWindow(subscriber.mailbox.options.window, of: feed) }
      subscriber.waiter?.resume()
      wakeReader()
    }
  }

  /// The next delivery for a subscriber.
  func next(for number: Int) -> Delivery {
    locked {
      guard let letter = subscribers[number]?.mailbox.next(), let subscriber = subscribers[number] else {
        switch subscribers[number] == nil ? endBefore : end {
        case nil: return .nothingYet
        case .stopped: return .ended(nil)
        case .failed(let error): return .ended(error)
        }
      }
      if pausing.contains(number) { wakeReader() }
      switch letter {
      case .update(let update): return .update(update)
      case .newest(let feed, let passedOver):
        return .update(newest(feed, passedOver: passedOver, for: subscriber))
      }
    }
  }

  private func newest(_ feed: FeedAddress, passedOver: Int, for subscriber: Subscriber) -> FeedUpdate {
    if let partition = feed.partition.flatMap({ followed[$0] }),
      partition.isBootstrapped || subscriber.mailbox.options.beginsWithHistory
    {
      if let reason = partition.reasonForLoss(of: feed.id) {
        return .mustRefetch(feed: feed.id.string, partition: partition.number, reason: reason)
      }
      if let content = partition.content(of: feed.id) {
        guard let window = subscriber.mailbox.options.window else {
          return .present(content, passedOver: passedOver)
        }
        // The snapshot is read from the document, so that it shares no storage with the feed.
        let document = content.reloadDocument(window)
        return .present(
          FeedContent(description: content.description, snapshot: Snapshot(), document: document),
          passedOver: passedOver
        )
      }
    }
    return .absent(feed: feed.id.string, partition: feed.partition, changeset: nil)
  }

  /// Replaces a subscriber's pending updates of a feed with the feed's newest state.
  func passOver(_ feed: FeedAddress, for number: Int) {
    locked { subscribers[number]?.mailbox.addNewest(feed) }
  }

  /// Waits until the subscriber has a pending update, reading has ended, or the task is cancelled.
  func wait(for number: Int) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        locked {
          let isIdle = subscribers[number]?.mailbox.isEmpty == true && end == nil
          // Checked under the lock: the cancellation handler may have run before the continuation was stored.
          if isIdle, !Task.isCancelled {
            subscribers[number]?.waiter = continuation
          } else {
            continuation.resume()
          }
        }
      }
    } onCancel: {
      locked { wake(number) }
    }
  }

  func wake(_ number: Int) {
    subscribers[number]?.waiter?.resume()
    subscribers[number]?.waiter = nil
  }

  /// The standing now and after each change. A slow reader receives only the newest value.
  func standings() -> AsyncStream<FeedStanding> {
    let (stream, continuation) = AsyncStream<FeedStanding>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let number: Int? = locked {
      continuation.yield(currentStanding)
      guard end == nil else { return nil }
      let number = takeNumber()
      standingWatchers[number] = continuation
      return number
    }
    guard let number else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      self?.locked { self?.standingWatchers[number] = nil }
    }
    return stream
  }
}
