import Feed
import Synchronization

/// What is followed and who is told: the place where the reading thread and the subscribers meet.
///
/// Unchecked: everything that changes is touched only while `lock` is held. It is held for one record, for one
/// subscriber's next update, or for a list of one partition's feeds; nothing is awaited under it.
final class FeedBoard: @unchecked Sendable {
  private let lock = Mutex(())

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

  var request = Request.none
  /// The partitions that were asked for last; nil for all.
  private var wanted: Set<Int32>?
  var readerWaiter: CheckedContinuation<Void, Never>?
  var end: End?
  /// How the reading ended before the last ``reset()``: the end of all subscriptions that were made before it.
  var endBefore = End.stopped

  /// What is asked of the reader.
  enum Request: Sendable, Equatable {
    case none
    /// To follow these partitions, or all if nil.
    case follow(Set<Int32>?)
    case stop
  }

  /// How the reading ended.
  enum End {
    case stopped
    case failed(FeedClientError)
  }

  /// One who is told.
  struct Subscriber {
    /// The feeds it names; nil for all.
    let feeds: Set<ByteText>?
    var mailbox: Mailbox
    var waiter: CheckedContinuation<Void, Never>?
  }

  init(partitions: Set<Int32>?, keeping kept: Set<ByteText>? = nil) {
    request = .follow(partitions)
    wanted = partitions
    self.kept = kept
  }

  func withLock<Result: Sendable, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try lock.withLock { _ throws(Failure) in try body() }
  }

  /// A number that no subscriber or watcher has had.
  func takeNumber() -> Int {
    defer { nextNumber += 1 }
    return nextNumber
  }

  // MARK: Requests

  /// Asks the reader; a request to stop is the last.
  func ask(_ new: Request) {
    withLock {
      if case .follow(let partitions) = new { wanted = partitions }
      guard request != .stop else { return }
      request = new
      wakeReader()
    }
  }

  func wakeReader() {
    readerWaiter?.resume()
    readerWaiter = nil
  }

  /// Forgets what is known and who is told, for a reading from the beginning of what was asked for last. The one
  /// before it must have ended.
  func reset() {
    withLock {
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
  }

  // MARK: Current state

  /// The feeds that are known, partition by partition, each sorted by the bytes of the ids.
  func collect<Element: Sendable>(
    _ list: @Sendable (FollowedPartition) -> [Element]
  ) -> [Element] {
    withLock { partitions.keys.sorted() }.flatMap { number in
      // One lock each, so that the reader gets its turn.
      withLock { partitions[number].map(list) ?? [] }
    }
  }

  /// How far the partitions were followed, by number.
  var partitionDescriptions: [PartitionDescription] {
    withLock {
      partitions.values.map {
        PartitionDescription(number: $0.number, position: $0.position, standing: $0.standing)
      }
    }.sorted { $0.number < $1.number }
  }

  /// What is known of a feed besides its content; nil if it is not known.
  func description(of feed: ByteText) -> FeedDescription? {
    withLock { lowest(feed)?.description(of: feed) }
  }

  /// The partitions that are followed, in order; nil if that is not known yet.
  var openedPartitions: [Int32]? { withLock { isOpen ? partitions.keys.sorted() : nil } }

  /// What a partition is now, to be saved; nil if it is not followed.
  func capture(_ number: Int32) -> PartitionCapture? {
    withLock { partitions[number]?.capture(lastIdle: lastIdle) }
  }

  /// A feed as it is now; nil if it is not known.
  func content(of feed: ByteText) -> FeedContent? {
    withLock { lowest(feed)?.content(of: feed) }
  }

  /// The partition with a feed; of several, which producers should not make, always the lowest.
  private func lowest(_ feed: ByteText) -> FollowedPartition? {
    partitions.values.lazy.filter { $0.hasReplica(of: feed) }.min { $0.number < $1.number }
  }
}
