import FeedStoreClient

/// Passes a feed's updates on to the main actor, until it is released.
@MainActor
final class FeedFollower {
  private var task: Task<Void, Never>?

  init(_ feed: Feed, _ show: @escaping @MainActor (FeedUpdate) -> Void) {
    let updates = feed.updates
    task = Task { @MainActor in for await update in updates { show(update) } }
  }

  deinit { task?.cancel() }
}
