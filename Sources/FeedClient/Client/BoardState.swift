import Feed

/// What a ``FeedBoard`` has under its lock.
///
/// Unchecked: the partitions are objects, which nobody has outside of it.
struct BoardState: @unchecked Sendable {
  /// The feeds to follow; nil for all.
  let kept: Set<ByteText>?
  /// The id of the cluster, once it is known.
  var clusterID: String?
  /// A time at which everything that the brokers had was read, or the reading had not begun, in milliseconds since
  /// 1970.
  var lastIdle: Int64 = 0

  var partitions: [Int32: FollowedPartition] = [:]
  /// Whether `partitions` are what was asked for, rather than none yet.
  var isOpen = false
  var standing = FeedStanding.bootstrapping
  var standingWatchers: [Int: AsyncStream<FeedStanding>.Continuation] = [:]

  var subscribers: [Int: Subscriber] = [:]
  /// Subscribers by the feeds that they name, and those of all feeds.
  var listeners: [ByteText: Set<Int>] = [:]
  var listenersToAll: Set<Int> = []
  /// Those for which the reading pauses.
  var pausing: Set<Int> = []
  /// How many are told of changesets before their partition's end was reached.
  var historyCount = 0
  private var nextNumber = 0

  var request = FeedBoard.Request.none
  /// The partitions that were asked for last; nil for all.
  private var wanted: Set<Int32>?
  var readerWaiter: CheckedContinuation<Void, Never>?
  var end: FeedBoard.End?
  /// How the reading ended before the last ``reset()``: the end of all subscriptions that were made before it.
  var endBefore = FeedBoard.End.stopped

  /// One who is told.
  struct Subscriber {
    /// The feeds it names; nil for all.
    let feeds: Set<ByteText>?
    var mailbox: Mailbox
    var waiter: CheckedContinuation<Void, Never>?
  }

  init(partitions: Set<Int32>?, keeping kept: Set<ByteText>?) {
    request = .follow(partitions)
    wanted = partitions
    self.kept = kept
  }

  /// A number that no subscriber or watcher has had.
  mutating func takeNumber() -> Int {
    defer { nextNumber += 1 }
    return nextNumber
  }

  mutating func ask(_ new: FeedBoard.Request) {
    if case .follow(let partitions) = new { wanted = partitions }
    guard request != .stop else { return }
    request = new
    wakeReader()
  }

  mutating func wakeReader() {
    readerWaiter?.resume()
    readerWaiter = nil
  }

  mutating func reset() {
    guard let end else { preconditionFailure("a client is reset once it has ended") }
    endBefore = end
    self.end = nil
    partitions = [:]
    isOpen = false
    standing = .bootstrapping
    subscribers = [:]
    listeners = [:]
    listenersToAll = []
    pausing = []
    historyCount = 0
    request = .follow(wanted)
  }

  /// The partition with a feed; of several, which producers should not make, always the lowest.
  func lowest(_ feed: ByteText) -> FollowedPartition? {
    partitions.values.lazy.filter { $0.hasReplica(of: feed) }.min { $0.number < $1.number }
  }

  /// Whether anything is known of a feed.
  func isKnown(_ feed: ByteText) -> Bool {
    partitions.values.contains { $0.reasonForLoss(of: feed) != nil || $0.hasReplica(of: feed) }
  }
}
