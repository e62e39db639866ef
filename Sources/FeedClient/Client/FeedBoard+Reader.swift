import Feed

/// Operations that the reading thread calls.
extension FeedBoard {
  /// The result of taking a record.
  enum Taken: Sendable {
    case taken
    /// The record is not a valid record of a changesets topic.
    case unreadable(ReplicaFault)
    /// A subscriber that pauses reading has a full queue. The record was not applied; pass it again later.
    case noRoom
  }

  /// Returns the pending request and clears it. After a request to follow, the reader is responsible for it.
  func takeRequest() -> Request { withState { $0.takeRequest() } }

  var hasRequest: Bool { withState { $0.request != .none } }

  // MARK: Partitions

  /// The followed partitions and their positions.
  var positions: [Int32: Int64] { withState { $0.partitions.mapValues(\.position) } }

  /// Follows exactly these partitions. Partitions that were already followed keep their positions.
  ///
  /// - Parameters:
  ///   - beginnings: the first offsets of newly followed partitions.
  ///   - ends: their ends; what others have read of them is used only if it lies between.
  func open(_ numbers: Set<Int32>, beginnings: [Int32: Int64], ends: [Int32: Int64] = [:]) {
    withState { $0.open(numbers, beginnings: beginnings, ends: ends) }
  }

  // MARK: Records

  /// Applies a record of a partition. Records of partitions that are not followed are ignored.
  ///
  /// - Parameter plan: decodes the plan from the record's headers. It is called only if the plan is used.
  func take(
    _ number: Int32,
    offset: Int64,
    key: ByteSpan,
    value: ByteSpan?,
    plan: () -> ChangesetPlan? = { nil }
  ) -> Taken {
    withState { $0.take(number, offset: offset, key: key, value: value, plan: plan) }
  }

  /// Records that the reader reached the end of a partition.
  func noteEnd(_ number: Int32, offset: Int64) { withState { $0.noteEnd(number, offset: offset) } }

  /// Recomputes the standing; called after each batch.
  func updateStanding() { withState { $0.updateStanding() } }

  /// Waits until the queues have room or a request arrives.
  func waitForRoom() async {
    await withCheckedContinuation { continuation in
      withState { state in
        if state.isFull, state.request == .none {
          state.readerWaiter = continuation
        } else {
          continuation.resume()
        }
      }
    }
  }

  /// Ends all subscriptions after their pending updates.
  func finish(_ end: End) {
    // Outside the lock, because their termination handlers take it.
    for watcher in withState({ $0.finish(end) }) { watcher.finish() }
  }
}
