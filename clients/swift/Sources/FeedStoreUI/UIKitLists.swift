#if canImport(UIKit) && !os(watchOS)
  import FeedStoreClient
  import UIKit

  extension NSDiffableDataSourceSnapshot
  where SectionIdentifierType == SectionID, ItemIdentifierType == ItemID {
    init(_ plan: ListPlan) {
      self.init()
      appendSections(plan.sections.map(\.id))
      for section in plan.sections { appendItems(section.items, toSection: section.id) }
      reconfigureItems(plan.reconfigured)
      reloadItems(plan.reloaded)
      reloadSections(plan.reloadedSections)
    }
  }

  extension FeedSource {
    typealias Snapshot = NSDiffableDataSourceSnapshot<SectionID, ItemID>

    /// Shows an update: all of it, or what changed and then the headers of sections.
    func show(
      _ update: FeedUpdate,
      reload: (Snapshot) -> Void,
      apply: (Snapshot) -> Void,
      header: (_ index: Int, FeedSection) -> Void
    ) {
      guard let plan = take(update) else { return }
      let snapshot = Snapshot(plan)
      guard !plan.isReload else { return reload(snapshot) }
      apply(snapshot)
      for id in plan.headers {
        guard let section = update.view.section(id), let index = snapshot.indexOfSection(id) else { continue }
        header(index, section)
      }
    }
  }

  /// Shows a feed in a `UICollectionView`, through a diffable data source of its own, for as long as it exists.
  ///
  ///     list = FeedCollectionView(collectionView, feed) { collectionView, indexPath, item in
  ///       let cell = collectionView.dequeueReusableCell(withReuseIdentifier: item.kind, for: indexPath)
  ///       (cell as? StoryCell)?.show(item)
  ///       return cell
  ///     }
  ///
  /// An item whose data changed keeps its cell, and the closure configures it again: for the same kind it must dequeue a cell of the
  /// same reuse identifier. An item of another kind gets another cell.
  @MainActor
  public final class FeedCollectionView {
    public typealias CellProvider = (UICollectionView, IndexPath, FeedItem) -> UICollectionViewCell?
    public typealias HeaderProvider = (UICollectionView, IndexPath, FeedSection) -> UICollectionReusableView?

    /// What is on the screen.
    public private(set) var view: FeedView
    public let dataSource: UICollectionViewDiffableDataSource<SectionID, ItemID>
    /// Makes the headers of sections.
    public var header: HeaderProvider?
    /// Shows a section whose data changed in its header, which is on the screen.
    public var configureHeader: ((UICollectionReusableView, FeedSection) -> Void)?
    /// Called after each update, for the standing and the like.
    public var onUpdate: ((FeedUpdate) -> Void)?
    private weak var collectionView: UICollectionView?
    private var follower: FeedFollower?
    private let source = FeedSource()

    public init(_ collectionView: UICollectionView, _ feed: Feed, cell: @escaping CellProvider) {
      self.collectionView = collectionView
      view = feed.view
      let source = source
      dataSource = UICollectionViewDiffableDataSource(collectionView: collectionView) {
        collectionView,
        indexPath,
        id in
        source.view?.item(id).flatMap { cell(collectionView, indexPath, $0) }
      }
      dataSource.supplementaryViewProvider = { [weak self] collectionView, kind, indexPath in
        guard kind == UICollectionView.elementKindSectionHeader else { return nil }
        return source.section(indexPath.section).flatMap { self?.header?(collectionView, indexPath, $0) }
      }
      follower = FeedFollower(feed) { [weak self] in self?.show($0) }
    }

    func show(_ update: FeedUpdate) {
      defer { onUpdate?(update) }
      view = update.view
      source.show(
        update,
        reload: { dataSource.applySnapshotUsingReloadData($0) },
        apply: { dataSource.apply($0, animatingDifferences: true) },
        header: { index, section in
          let header = collectionView?.supplementaryView(
            forElementKind: UICollectionView.elementKindSectionHeader,
            at: IndexPath(item: 0, section: index)
          )
          if let header { configureHeader?(header, section) }
        }
      )
    }
  }

  /// Shows a feed in a `UITableView`, as `FeedCollectionView` does in a collection view. For headers, use your table's delegate with
  /// `view.sections`.
  @MainActor
  public final class FeedTableView {
    public typealias CellProvider = (UITableView, IndexPath, FeedItem) -> UITableViewCell?

    /// What is on the screen.
    public private(set) var view: FeedView
    public let dataSource: UITableViewDiffableDataSource<SectionID, ItemID>
    /// Shows a section whose data changed in its header, which is on the screen.
    public var configureHeader: ((UITableViewHeaderFooterView, FeedSection) -> Void)?
    /// Called after each update, for the standing and the like.
    public var onUpdate: ((FeedUpdate) -> Void)?
    private weak var tableView: UITableView?
    private var follower: FeedFollower?
    private let source = FeedSource()

    public init(_ tableView: UITableView, _ feed: Feed, cell: @escaping CellProvider) {
      self.tableView = tableView
      view = feed.view
      let source = source
      dataSource = UITableViewDiffableDataSource(tableView: tableView) { tableView, indexPath, id in
        source.view?.item(id).flatMap { cell(tableView, indexPath, $0) }
      }
      follower = FeedFollower(feed) { [weak self] in self?.show($0) }
    }

    func show(_ update: FeedUpdate) {
      defer { onUpdate?(update) }
      view = update.view
      source.show(
        update,
        reload: { dataSource.applySnapshotUsingReloadData($0) },
        apply: { dataSource.apply($0, animatingDifferences: true) },
        header: { index, section in
          if let header = tableView?.headerView(forSection: index) { configureHeader?(header, section) }
        }
      )
    }
  }
#endif
