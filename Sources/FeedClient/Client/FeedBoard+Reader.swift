import Feed

/// What the reader tells.
extension FeedBoard {
  /// What became of a record.
  enum Taken: Sendable {
    case taken
    /// It was none of a changesets topic's.
    case unreadable(ReplicaFault)
    /// Somebody for whom the reading pauses has no room; the record is to be brought again.
    case noRoom
  }

  /// What is asked for, once: a request to follow is the reader's then.
  func takeRequest() -> Request { withState { $0.takeRequest() } }

  var hasRequest: Bool { withState { $0.request != .none } }

  // MARK: Partitions

  /// The partitions that are followed, and how far they were read.
  var positions: [Int32: Int64] { withState { $0.partitions.mapValues(\.position) } }

  /// Notes which cluster is read.
  func noteCluster(_ id: String?) { withState { $0.clusterID = id } }

  /// Follows exactly these partitions. Those that were followed before go on where they are.
  ///
  /// - Parameters:
  ///   - beginnings: the offsets of the others' first records.
  ///   - loaded: what was saved of the others.
  func open(
    _ numbers: Set<Int32>,
    beginnings: [Int32: Int64],
    loaded: [Int32: LoadedPartition] = [:]
  ) {
    withState { $0.open(numbers, beginnings: beginnings, loaded: loaded) }
  }

  // MARK: Records

  /// Takes a record of a partition; one that is not followed is passed over.
  ///
  /// - Parameter plan: what the record's header says of why the changeset is what it is; read only where it is of use.
  func take(
    _ number: Int32,
    offset: Int64,
    key: ByteSpan,
    value: ByteSpan?,
    plan: () -> ChangesetPlan? = { nil }
  ) -> Taken {
    withState { $0.take(number, offset: offset, key: key, value: value, plan: plan) }
  }

  /// Notes that nothing has come which was not taken.
  ///
  /// - Parameter now: in milliseconds since 1970.
  func noteIdle(at now: Int64) { withState { $0.lastIdle = max($0.lastIdle, now) } }

  /// Notes the end of a partition.
  func noteEnd(_ number: Int32, offset: Int64) { withState { $0.noteEnd(number, offset: offset) } }

  /// Says where the reading stands, after a batch.
  func updateStanding() { withState { $0.updateStanding() } }

  /// Waits until there is room, or something is asked.
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

  /// Ends all subscriptions, once they have taken their pending updates.
  func finish(_ end: End) {
    // Not under the lock, which their ends take.
    for watcher in withState({ $0.finish(end) }) { watcher.finish() }
  }
}
