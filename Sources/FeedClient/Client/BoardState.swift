import Feed

/// The state of a ``FeedBoard``, protected by its lock.
///
/// Unchecked: the partitions are class instances, but no reference to them leaves this type.
struct BoardState: @unchecked Sendable {
  /// The feeds to follow; nil for all.
  let kept: Set<ByteText>?

  var partitions: [Int32: FollowedPartition] = [:]
  /// The ids that several partitions have.
  var sharedIDs = SharedIDs()
  /// What others have read of partitions that may be followed next.
  var adopted: [Int32: AdoptedPartition] = [:]
  /// Whether `partitions` reflects the request; false until the first partitions are open.
  var isOpen = false
  var standing = FeedStanding.bootstrapping
  var standingWatchers: [Int: AsyncStream<FeedStanding>.Continuation] = [:]

  var subscribers: [Int: Subscriber] = [:]
  /// Subscribers by requested feed, and the subscribers of all feeds.
  var listeners: [ByteText: Set<Int>] = [:]
  var listenersToAll: Set<Int> = []
  /// Subscribers with the policy `pausesReading`.
  var pausing: Set<Int> = []
  /// The number of subscribers that receive changesets before their partition's end is reached.
  var historyCount = 0
  private var nextNumber = 0

  var request = FeedBoard.Request.none
  /// The most recently requested partitions; nil for all.
  private var wanted: Set<Int32>?
  var readerWaiter: CheckedContinuation<Void, Never>?
  var end: FeedBoard.End?
  /// How the run before the last ``reset()`` ended. Subscriptions made before that reset end the same way.
  var endBefore = FeedBoard.End.stopped

  /// One subscriber.
  struct Subscriber {
    /// The requested feeds; nil for all.
    let feeds: Set<ByteText>?
    var mailbox: Mailbox
    var waiter: CheckedContinuation<Void, Never>?
  }

  init(partitions: Set<Int32>?, keeping kept: Set<ByteText>?) {
    request = .follow(partitions)
    wanted = partitions
    self.kept = kept
  }

  /// Returns a number that no subscriber or watcher has had.
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
    sharedIDs = SharedIDs()
    adopted = [:]
    isOpen = false
    standing = .bootstrapping
    subscribers = [:]
    listeners = [:]
    listenersToAll = []
    pausing = []
    historyCount = 0
    request = .follow(wanted)
  }

  /// The partitions in the order of their numbers.
  var sortedPartitions: [FollowedPartition] { partitions.values.sorted { $0.number < $1.number } }

  /// The partitions that have a feed, lowest first.
  func partitions(of feed: ByteText) -> [Int32] {
    partitions.values.lazy.filter { $0.hasReplica(of: feed) }.map(\.number).sorted()
  }

  /// The partition with a number, or the lowest one that has a feed.
  func partition(of feed: ByteText, _ number: Int32?) -> FollowedPartition? {
    (number ?? partitions(of: feed).first).flatMap { partitions[$0] }
  }

  /// Whether all partitions have been read to their ends once.
  var areKnown: Bool { isOpen && partitions.values.allSatisfy(\.isBootstrapped) }

  /// Whether the feed exists or has a recorded loss.
  func isKnown(_ feed: ByteText) -> Bool {
    partitions.values.contains { $0.reasonForLoss(of: feed) != nil || $0.hasReplica(of: feed) }
  }
}
