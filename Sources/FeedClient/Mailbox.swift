import Feed
import Queues

/// The pending updates of one subscriber, and the feeds whose newest state it receives instead.
///
/// The options limit the updates. For a feed that is delivered as its newest state, only its address is queued, so there are
/// at most as many of those as feeds.
struct Mailbox {
  enum Delivery {
    case update(FeedUpdate)
    /// The state of a feed at the time of delivery, which replaces this many updates.
    case newest(FeedAddress, passedOver: Int)
  }

  let options: SubscriptionOptions
  private var updates = Queue<(number: Int, feed: FeedAddress, update: FeedUpdate, byteCount: Int)>()
  private var feeds = Queue<(number: Int, feed: FeedAddress)>()
  /// For each feed in `feeds`, the number of updates that were replaced.
  private var passedOver: [FeedAddress: Int] = [:]
  private var byteCount = 0
  /// Numbers the entries, to deliver them in order.
  private var nextNumber = 0

  init(_ options: SubscriptionOptions) { self.options = options }

  var isEmpty: Bool { updates.isEmpty && feeds.isEmpty }

  /// Whether the queue has reached a limit.
  var isFull: Bool { updates.count >= options.maximumUpdates || byteCount >= options.maximumBytes }

  var updateCount: Int { updates.count }

  /// Queues an update. If the queue is full, the policy `coalesces` replaces the feed's updates with its newest state;
  /// with `pausesReading`, the reader must check ``isFull`` first.
  mutating func add(_ update: FeedUpdate, of feed: FeedAddress, byteCount size: Int) {
    if let count = passedOver[feed] {
      passedOver[feed] = count + 1
    } else if isFull, options.slowPolicy == .coalesces {
      addNewest(feed)
      passedOver[feed, default: 0] += 1
    } else {
      updates.append((takeNumber(), feed, update, size))
      byteCount += size
    }
  }

  /// Queues the newest state of a feed in place of its pending updates.
  mutating func addNewest(_ feed: FeedAddress) {
    guard passedOver[feed] == nil else { return }
    let dropped = updates.removeAll { $0.feed == feed }
    for update in dropped { byteCount -= update.byteCount }
    passedOver[feed] = dropped.count
    feeds.append((takeNumber(), feed))
  }

  /// The oldest pending entry.
  mutating func next() -> Delivery? {
    let update = updates.first?.number ?? .max
    let feed = feeds.first?.number ?? .max
    if update < feed, let waiting = updates.removeFirst() {
      byteCount -= waiting.byteCount
      return .update(waiting.update)
    }
    guard let waiting = feeds.removeFirst() else { return nil }
    return .newest(waiting.feed, passedOver: passedOver.removeValue(forKey: waiting.feed) ?? 0)
  }

  private mutating func takeNumber() -> Int {
    defer { nextNumber += 1 }
    return nextNumber
  }
}
