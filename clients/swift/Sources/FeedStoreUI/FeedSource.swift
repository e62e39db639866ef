import FeedStoreClient

/// The view that cells are made from. Data sources keep their closures, which must not keep the list.
@MainActor
final class FeedSource {
  /// Nil until something is shown.
  var view: FeedView?
}
