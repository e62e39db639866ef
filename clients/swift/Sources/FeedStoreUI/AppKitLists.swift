// With Mac Catalyst there are both, and UIKit counts.
#if canImport(AppKit) && !canImport(UIKit)
  import AppKit
  import FeedStoreClient

  /// Shows a feed in an `NSCollectionView`, through a diffable data source of its own, for as long as it exists. AppKit has no
  /// `reconfigureItems`: an item whose data changed is loaded again.
  @MainActor
  public final class FeedCollectionView {
    public typealias ItemProvider = (NSCollectionView, IndexPath, FeedItem) -> NSCollectionViewItem?
    public typealias HeaderProvider = (NSCollectionView, IndexPath, FeedSection) -> (
      any NSView & NSCollectionViewElement
    )?

    /// What is on the screen.
    public private(set) var view: FeedView
    public let dataSource: NSCollectionViewDiffableDataSource<SectionID, ItemID>
    /// Makes the headers of sections.
    public var header: HeaderProvider?
    /// Called after each update, for the standing and the like.
    public var onUpdate: ((FeedUpdate) -> Void)?
    private var follower: FeedFollower?
    private let source = FeedSource()

    public init(_ collectionView: NSCollectionView, _ feed: Feed, item: @escaping ItemProvider) {
      view = feed.view
      let source = source
      dataSource = NSCollectionViewDiffableDataSource(collectionView: collectionView) {
        collectionView,
        indexPath,
        id in
        source.view?.item(id).flatMap { item(collectionView, indexPath, $0) }
      }
      dataSource.supplementaryViewProvider = { [weak self] collectionView, kind, indexPath in
        guard kind == NSCollectionView.elementKindSectionHeader else { return nil }
        return source.section(indexPath.section).flatMap { self?.header?(collectionView, indexPath, $0) }
      }
      follower = FeedFollower(feed) { [weak self] in self?.show($0) }
    }

    func show(_ update: FeedUpdate) {
      defer { onUpdate?(update) }
      view = update.view
      guard let plan = source.take(update) else { return }
      var snapshot = NSDiffableDataSourceSnapshot<SectionID, ItemID>()
      snapshot.appendSections(plan.sections.map(\.id))
      for section in plan.sections { snapshot.appendItems(section.items, toSection: section.id) }
      snapshot.reloadItems(plan.reloaded + plan.reconfigured)
      snapshot.reloadSections(plan.reloadedSections)
      // Without animation, AppKit loads everything again.
      dataSource.apply(snapshot, animatingDifferences: !plan.isReload)
    }
  }
#endif
