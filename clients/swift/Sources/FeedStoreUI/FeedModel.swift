#if canImport(SwiftUI)
  import Combine
  import FeedStoreClient
  import Observation
  import SwiftUI

  /// A feed for SwiftUI, which follows it in `.task`.
  ///
  ///     @State private var news = FeedModel(store.feed("news"))
  ///
  ///     var body: some View {
  ///       List(news.sections) { section in
  ///         Section(section.id.rawValue) { ForEach(section.items) { StoryRow(item: $0) } }
  ///       }
  ///       .task { await news.follow() }
  ///     }
  ///
  /// Items and sections are `Identifiable` by their ids, so SwiftUI animates moves. One that did not change is the same object, so a
  /// row that has its item as a property is drawn again exactly if the item changed.
  @available(iOS 17, macOS 14, tvOS 17, watchOS 10, *)
  @MainActor
  @Observable
  public final class FeedModel {
    public private(set) var view: FeedView
    @ObservationIgnored public let feed: Feed
    /// Of updates that change at most 200 places, unless the user wants less motion; nil for none.
    @ObservationIgnored public var animation: Animation?

    public init(_ feed: Feed, animation: Animation? = .default) {
      (self.feed, self.animation) = (feed, animation)
      view = feed.view
    }

    public var sections: [FeedSection] { view.sections }
    public var standing: Standing { view.standing }

    /// Follows the feed until the task is cancelled.
    public func follow() async { for await update in feed.updates { show(update) } }

    func show(_ update: FeedUpdate) { update.animated(animation, over: view) { view = update.view } }
  }

  /// A feed for SwiftUI on systems without `FeedModel`. Follow it in `.task`, too.
  @MainActor
  public final class ObservableFeed: ObservableObject {
    @Published public private(set) var view: FeedView
    public let feed: Feed
    public var animation: Animation?

    public init(_ feed: Feed, animation: Animation? = .default) {
      (self.feed, self.animation) = (feed, animation)
      view = feed.view
    }

    /// Follows the feed until the task is cancelled.
    public func follow() async {
      for await update in feed.updates { update.animated(animation, over: view) { view = update.view } }
    }
  }

  extension FeedUpdate {
    @MainActor
    fileprivate func animated(_ animation: Animation?, over shown: FeedView, _ show: () -> Void) {
      if let animation, ListPlan(self, over: shown).isAnimated(upTo: 200) {
        withAnimation(animation, show)
      } else {
        show()
      }
    }
  }
#endif
