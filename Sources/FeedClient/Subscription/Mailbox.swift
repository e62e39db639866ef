import Feed

/// The pending updates of one subscriber, and the feeds whose newest state it is to get.
///
/// Updates are bounded by the options. Of a feed that is told by its newest state only the id waits, so those
/// are as many as there are feeds at most, and cost next to nothing.
struct Mailbox {
  /// What to tell next.
  enum Letter {
    case update(FeedUpdate)
    /// The state of a feed when it is told, which stands for so many updates.
    case newest(ByteText, passedOver: Int)
  }

  private struct Waiting {
    let number: Int
    let feed: ByteText
    let update: FeedUpdate
    let byteCount: Int
  }

  let options: SubscriptionOptions
  private var updates = Queue<Waiting>()
  private var feeds = Queue<(number: Int, feed: ByteText)>()
  /// For each feed in `feeds`, the updates that were passed over.
  private var passedOver: [ByteText: Int] = [:]
  private var byteCount = 0
  /// Numbers what comes, so that what came first is told first.
  private var nextNumber = 0

  init(_ options: SubscriptionOptions) { self.options = options }

  var isEmpty: Bool { updates.isEmpty && feeds.isEmpty }

  /// Whether as many updates wait as may.
  var isFull: Bool { updates.count >= options.maximumUpdates || byteCount >= options.maximumBytes }

  /// How many updates wait.
  var updateCount: Int { updates.count }

  /// Takes an update. Where the policy is to coalesce and there is no room, the feed is told by its newest
  /// state; where it is to pause, it is for the reader not to bring more.
  mutating func add(_ update: FeedUpdate, of feed: ByteText, byteCount size: Int) {
    if let count = passedOver[feed] {
      passedOver[feed] = count + 1
    } else if isFull, options.slowPolicy == .coalesces {
      addNewest(feed)
      passedOver[feed, default: 0] += 1
    } else {
      updates.append(Waiting(number: takeNumber(), feed: feed, update: update, byteCount: size))
      byteCount += size
    }
  }

  /// Asks for the newest state of a feed, in place of its pending updates.
  mutating func addNewest(_ feed: ByteText) {
    guard passedOver[feed] == nil else { return }
    let dropped = updates.removeAll { $0.feed == feed }
    for update in dropped { byteCount -= update.byteCount }
    passedOver[feed] = dropped.count
    feeds.append((takeNumber(), feed))
  }

  /// The oldest pending entry.
  mutating func next() -> Letter? {
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
