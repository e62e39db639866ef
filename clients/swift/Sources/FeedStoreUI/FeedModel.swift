#if canImport(SwiftUI)
  import FeedStoreClient
  import Observation
  import SwiftUI

  /// A feed for SwiftUI. It follows the feed for as long as it exists.
  ///
  ///     @State private var news = FeedModel(store.feed("news"))
  ///
  ///     var body: some View {
  ///       List(news.sections) { section in
  ///         Section(section.id.rawValue) { ForEach(section.items) { StoryRow(item: $0) } }
  ///       }
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
    @ObservationIgnored private var follower: FeedFollower?

    public init(_ feed: Feed) {
      self.feed = feed
      view = feed.view
      follower = FeedFollower(feed) { [weak self] in self?.view = $0.view }
    }

    public var sections: [FeedSection] { view.sections }
    public var standing: Standing { view.standing }
  }
#endif

#if canImport(Combine)
  import Combine
  import FeedStoreClient

  /// A feed for SwiftUI on systems without `FeedModel`.
  @MainActor
  public final class ObservableFeed: ObservableObject {
    @Published public private(set) var view: FeedView
    private var follower: FeedFollower?

    public init(_ feed: Feed) {
      view = feed.view
      follower = FeedFollower(feed) { [weak self] in self?.view = $0.view }
    }
  }
#endif
