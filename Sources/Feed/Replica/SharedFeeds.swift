/// The feeds of a ``ReplicaPartition`` at one moment, for another partition of replicas that continues from them on another
/// thread.
///
/// Both sides read the same states; the side that changes a feed first copies it. One of the two sides changes feeds under a
/// lock. The other side keeps this value for as long as it may read a shared state: the references to the states are released
/// under that lock, so no state is changed in place while the other side still reads it.
///
/// Unchecked: it changes only when one thread takes the feeds, and when nobody has it any more.
package final class SharedFeeds: @unchecked Sendable {
  /// Copies of everything but the states, until ``take()``.
  private var feeds: [FollowedFeed]
  private var states: [SnapshotStorage]
  /// Parts of incomplete changesets, which both sides have.
  private var parts: [OwnedSpan]
  private let locked: (() -> Void) -> Void

  /// - Parameter locked: calls its argument under the lock.
  init(_ followed: some Sequence<FollowedFeed>, locked: @escaping (() -> Void) -> Void) {
    feeds = followed.map(FollowedFeed.init(sharing:))
    states = feeds.compactMap { $0.replica?.sharedStorage }
    parts = feeds.flatMap { $0.pending?.values ?? [] }
    self.locked = locked
  }

  deinit {
    feeds = []
    locked {
      states = []
      parts = []
    }
  }

  /// Hands the feeds out, once.
  func take() -> [FollowedFeed] {
    defer { feeds = [] }
    return feeds
  }
}
