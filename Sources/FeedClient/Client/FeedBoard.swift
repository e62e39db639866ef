import Feed
import Synchronization

/// The followed partitions and their subscribers, shared by the reading thread and the subscribers.
///
/// All mutable state is a ``BoardState`` behind one lock. The lock is held while one record is applied, one update is
/// taken, or the feeds of one partition are listed. No code awaits while it holds the lock.
final class FeedBoard: Sendable {
  /// The feeds to follow; nil for all.
  let kept: Set<ByteText>?
  private let state: Mutex<BoardState>

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

  /// Sends a request to the reader. No request follows a request to stop.
  func ask(_ request: Request) { withState { $0.ask(request) } }

  /// Discards all feeds and subscribers, to read the most recently requested partitions from their beginning. The
  /// previous run must have ended.
  func reset() { withState { $0.reset() } }

  // MARK: Current state

  /// The standing over all followed partitions.
  var standing: FeedStanding { withState { $0.standing } }

  /// Lists the known feeds by partition, and within a partition by the bytes of their ids.
  func collect<Element: Sendable>(
    _ list: @Sendable (FollowedPartition) -> [Element]
  ) -> [Element] {
    withState { $0.partitions.keys.sorted() }.flatMap { number in
      // Takes the lock once for each partition, so that the reader can run in between.
      withState { $0.partitions[number].map(list) ?? [] }
    }
  }

  /// The followed partitions, sorted by number.
  var partitionDescriptions: [PartitionDescription] {
    withState {
      $0.partitions.values.map {
        PartitionDescription(number: $0.number, position: $0.position, standing: $0.standing)
      }
    }.sorted { $0.number < $1.number }
  }

  /// The partitions that have a feed, lowest first.
  func partitions(of feed: ByteText) -> [Int32] { withState { $0.partitions(of: feed) } }

  /// The description of a feed in a partition, by default the lowest that has it; nil if the feed is not known.
  func description(of feed: ByteText, in partition: Int32? = nil) -> FeedDescription? {
    withState { $0.partition(of: feed, partition)?.description(of: feed) }
  }

  /// Messages about ids that several partitions have, once all partitions are known.
  func takeSharedIDs() -> [String] { withState { $0.takeSharedIDs() } }

  /// The number of ids that several partitions have.
  var sharedIDCount: Int { withState { $0.sharedIDs.count } }

  /// The current content of a feed in a partition, by default the lowest that has it; nil if the feed is not known.
  func content(of feed: ByteText, in partition: Int32? = nil) -> FeedContent? {
    withState { $0.partition(of: feed, partition)?.content(of: feed) }
  }
}
