import Feed
import Synchronization

/// What is followed and who is told: the place where the reading thread and the subscribers meet.
///
/// Everything that changes is a ``BoardState`` behind one lock. The lock is held for one record, for one subscriber's
/// next update, or for a list of one partition's feeds; nothing is awaited under it.
final class FeedBoard: Sendable {
  /// The feeds to follow; nil for all.
  let kept: Set<ByteText>?
  private let state: Mutex<BoardState>

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

  init(partitions: Set<Int32>?, keeping kept: Set<ByteText>? = nil) {
    self.kept = kept
    state = Mutex(BoardState(partitions: partitions, keeping: kept))
  }

  func withState<Result: Sendable, Failure: Error>(
    _ body: (inout BoardState) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try state.withLock { state throws(Failure) in try body(&state) }
  }

  // MARK: Requests

  /// Asks the reader; a request to stop is the last.
  func ask(_ request: Request) { withState { $0.ask(request) } }

  /// Forgets what is known and who is told, for a reading from the beginning of what was asked for last. The one
  /// before it must have ended.
  func reset() { withState { $0.reset() } }

  // MARK: Current state

  /// Where the reading stands with all that is followed.
  var standing: FeedStanding { withState { $0.standing } }

  /// The id of the cluster, once it is known.
  var clusterID: String? { withState { $0.clusterID } }

  /// The feeds that are known, partition by partition, each sorted by the bytes of the ids.
  func collect<Element: Sendable>(
    _ list: @Sendable (FollowedPartition) -> [Element]
  ) -> [Element] {
    withState { $0.partitions.keys.sorted() }.flatMap { number in
      // One lock each, so that the reader gets its turn.
      withState { $0.partitions[number].map(list) ?? [] }
    }
  }

  /// How far the partitions were followed, by number.
  var partitionDescriptions: [PartitionDescription] {
    withState {
      $0.partitions.values.map {
        PartitionDescription(number: $0.number, position: $0.position, standing: $0.standing)
      }
    }.sorted { $0.number < $1.number }
  }

  /// What is known of a feed besides its content; nil if it is not known.
  func description(of feed: ByteText) -> FeedDescription? {
    withState { $0.lowest(feed)?.description(of: feed) }
  }

  /// The partitions that are followed, in order; nil if that is not known yet.
  var openedPartitions: [Int32]? { withState { $0.isOpen ? $0.partitions.keys.sorted() : nil } }

  /// What a partition is now, to be saved; nil if it is not followed.
  func capture(_ number: Int32) -> PartitionCapture? {
    withState { $0.partitions[number]?.capture(lastIdle: $0.lastIdle) }
  }

  /// A feed as it is now; nil if it is not known.
  func content(of feed: ByteText) -> FeedContent? {
    withState { $0.lowest(feed)?.content(of: feed) }
  }
}
