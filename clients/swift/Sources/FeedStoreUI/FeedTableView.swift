#if canImport(UIKit) && !os(watchOS)
  import FeedStoreClient
  import UIKit

  /// Shows a feed in a `UITableView`, as `FeedCollectionView` does in a collection view. Headers and footers come from your table's
  /// delegate, with `view.sections`, or from a data source of yours.
  @MainActor
  public final class FeedTableView: FeedList {
    public typealias DataSource = UITableViewDiffableDataSource<SectionID, ItemID>
    public typealias CellProvider = (UITableView, IndexPath, FeedItem) -> UITableViewCell

    public let dataSource: DataSource
    /// Show a section whose data changed in its header or footer, which is on the screen.
    public var configureHeader: ((UITableViewHeaderFooterView, FeedSection) -> Void)?
    public var configureFooter: ((UITableViewHeaderFooterView, FeedSection) -> Void)?
    private weak var tableView: UITableView?

    /// - Parameter dataSource: Makes a data source of a class of yours, with this cell provider.
    public init(
      _ tableView: UITableView,
      _ feed: Feed,
      dataSource: (@MainActor (UITableView, @escaping DataSource.CellProvider) -> DataSource)? = nil,
      cell: @escaping CellProvider
    ) {
      self.tableView = tableView
      let make = dataSource ?? { DataSource(tableView: $0, cellProvider: $1) }
      let elements = FeedSource()
      // An item that the feed never had cannot have a cell.
      self.dataSource = make(tableView) { view, path, id in elements.item(id).map { cell(view, path, $0) } }
      super.init(feed, elements)
      follow(feed)
    }

    override var isInWindow: Bool { tableView?.window != nil }

    override func dataSourceSnapshot() -> Snapshot { dataSource.snapshot() }

    override func apply(_ snapshot: Snapshot, _ isAnimated: Bool) {
      dataSource.apply(snapshot, animatingDifferences: isAnimated)
    }

    override func reload(_ snapshot: Snapshot) { dataSource.applySnapshotUsingReloadData(snapshot) }

    override func configureHeaders(_ index: Int, _ section: FeedSection) {
      if let header = tableView?.headerView(forSection: index) { configureHeader?(header, section) }
      if let footer = tableView?.footerView(forSection: index) { configureFooter?(footer, section) }
    }
  }
#endif
