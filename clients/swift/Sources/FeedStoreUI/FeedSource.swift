import FeedStoreClient

/// The view that cells are made from. Data sources keep their closures, which must not keep the list.
@MainActor
final class FeedSource {
  /// Nil until something is shown.
  private(set) var view: FeedView?

  /// The section at an index path of a header; nil if there is none.
  func section(_ index: Int) -> FeedSection? {
    view.flatMap { $0.sections.indices.contains(index) ? $0.sections[index] : nil }
  }

  /// Cells show an update from now on.
  ///
  /// - Returns: what it asks of the list; nil for nothing.
  func take(_ update: FeedUpdate) -> ListPlan? {
    defer { view = update.view }
    return ListPlan(update, over: view)
  }
}
