import Feed

/// The updates of some feeds, or of all, as they arrive.
///
/// A subscription begins when it is created, with the state of the known feeds, and ends when its last copy and
/// iterator are released. It supports one iteration: several iterators share its updates. The sequence ends after the
/// pending updates when the client is stopped, and throws if the client fails.
public struct FeedUpdates: AsyncSequence, Sendable {
  public typealias Element = FeedUpdate
  public typealias Failure = FeedClientError

  let subscription: FeedSubscription

  /// An iterator over the pending updates.
  public func makeAsyncIterator() -> Iterator { Iterator(subscription: subscription) }

  /// Iterates over the updates.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: FeedSubscription
    /// The last state of each feed. Unless the subscriber keeps a copy, this is the only reference, and differences are
    /// applied in place.
    private var snapshots: [FeedAddress: Snapshot] = [:]

    init(subscription: FeedSubscription) { self.subscription = subscription }

    /// The next update; nil when the client was stopped or the task is cancelled.
    public mutating func next() async throws(FeedClientError) -> FeedUpdate? {
      try await next(isolation: nil)
    }

    /// The next update; nil when the client was stopped or the task is cancelled.
    ///
    /// - Parameter actor: the caller's actor, on which the iterator stays.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(FeedClientError) -> FeedUpdate? {
      while !Task.isCancelled {
        switch subscription.board.next(for: subscription.number) {
        case .update(let update):
          guard subscription.options.hasSnapshots else { return update }
          if let completed = completed(update) { return completed }
          subscription.board.passOver(update.address, for: subscription.number)
        case .ended(nil): return nil
        case .ended(let error?): throw error
        case .nothingYet: await subscription.board.wait(for: subscription.number)
        }
      }
      return nil
    }

    /// The update with the resulting snapshot; nil if the snapshot cannot apply it. A replica accepts a difference with
    /// two entries for one place, which a snapshot rejects.
    private mutating func completed(_ update: FeedUpdate) -> FeedUpdate? {
      let feed = update.address
      switch update {
      case .present, .changed(_, .some): snapshots[feed] = update.snapshot
      case .absent: snapshots[feed] = nil
      case .mustRefetch: break
      case .changed(let changeset, nil):
        guard let difference = changeset.change.difference, apply(difference, to: feed) else { return nil }
        return .changed(changeset, snapshots[feed])
      }
      return update
    }

    private mutating func apply(_ difference: SnapshotDifference, to feed: FeedAddress) -> Bool {
      do throws(SnapshotError) {
        // In place: a copy taken out would be a second reference, and all of it would be copied.
        try snapshots[feed]?.apply(difference)
        return snapshots[feed] != nil
      } catch {
        return false
      }
    }
  }
}
