#if canImport(UIKit) && !os(watchOS)
  import UIKit
#elseif canImport(AppKit)
  import AppKit
#endif

#if (canImport(UIKit) && !os(watchOS)) || canImport(AppKit)
  import FeedStoreClient

  /// Shows a feed in a `UICollectionView`, or on a Mac an `NSCollectionView`, through a diffable data source, for as long as it exists.
  ///
  ///     list = FeedCollectionView(collectionView, feed) { collectionView, indexPath, item in
  ///       let cell = collectionView.dequeueReusableCell(withReuseIdentifier: item.kind, for: indexPath)
  ///       (cell as? StoryCell)?.show(item)
  ///       return cell
  ///     }
  ///
  /// In UIKit, an item whose data changed keeps its cell, and the closure configures it again: for the same kind it must dequeue a
  /// cell of the same reuse identifier. An item of another kind gets another cell.
  @MainActor
  public final class FeedCollectionView: FeedList {
    #if canImport(UIKit)
      public typealias CollectionView = UICollectionView
      public typealias Cell = UICollectionViewCell
      public typealias SupplementaryView = UICollectionReusableView
      public typealias DataSource = UICollectionViewDiffableDataSource<SectionID, ItemID>
      public typealias DataSourceCellProvider = DataSource.CellProvider
    #else
      public typealias CollectionView = NSCollectionView
      public typealias Cell = NSCollectionViewItem
      public typealias SupplementaryView = any NSView & NSCollectionViewElement
      public typealias DataSource = NSCollectionViewDiffableDataSource<SectionID, ItemID>
      public typealias DataSourceCellProvider = DataSource.ItemProvider
    #endif
    public typealias CellProvider = (CollectionView, IndexPath, FeedItem) -> Cell
    public typealias SupplementaryProvider = (CollectionView, IndexPath, FeedSection) -> SupplementaryView

    public let dataSource: DataSource
    private weak var collectionView: CollectionView?
    private var kinds:
      [String: (make: SupplementaryProvider, configure: (SupplementaryView, FeedSection) -> Void)] = [:]

    /// - Parameter dataSource: Makes a data source of a class of yours, with this cell provider.
    public init(
      _ collectionView: CollectionView,
      _ feed: Feed,
      dataSource: (@MainActor (CollectionView, @escaping DataSourceCellProvider) -> DataSource)? = nil,
      cell: @escaping CellProvider
    ) {
      self.collectionView = collectionView
      let make =
        dataSource ?? {
          #if canImport(UIKit)
            DataSource(collectionView: $0, cellProvider: $1)
          #else
            DataSource(collectionView: $0, itemProvider: $1)
          #endif
        }
      let elements = FeedSource()
      // An item that the feed never had cannot have a cell.
      self.dataSource = make(collectionView) { view, path, id in
        elements.item(id).map { cell(view, path, $0) }
      }
      super.init(feed, elements)
      let others = self.dataSource.supplementaryViewProvider
      self.dataSource.supplementaryViewProvider = { [weak self] view, kind, path in
        guard let provider = self?.kinds[kind] else { return others?(view, kind, path) }
        return elements.section(path.section, in: self?.dataSource.snapshot()).map {
          provider.make(view, path, $0)
        }
      }
      follow(feed)
    }

    /// Makes the views of a kind, for example the headers or the footers of sections.
    ///
    /// - Parameter configure: Shows a section whose data changed in a view that is on the screen.
    public func supplementary(
      _ kind: String,
      make: @escaping SupplementaryProvider,
      configure: @escaping (SupplementaryView, FeedSection) -> Void = { _, _ in }
    ) {
      kinds[kind] = (make, configure)
    }

    override var isInWindow: Bool { collectionView?.window != nil }

    override func dataSourceSnapshot() -> Snapshot { dataSource.snapshot() }

    override func apply(_ snapshot: Snapshot, _ isAnimated: Bool) {
      dataSource.apply(snapshot, animatingDifferences: isAnimated)
    }

    override func reload(_ snapshot: Snapshot) {
      #if canImport(UIKit)
        dataSource.applySnapshotUsingReloadData(snapshot)
      #else
        dataSource.apply(snapshot, animatingDifferences: false)
      #endif
    }

    override func configureHeaders(_ index: Int, _ section: FeedSection) {
      guard let collectionView else { return }
      for (kind, provider) in kinds {
        for path in collectionView.indexPathsForVisibleSupplementaryElements(ofKind: kind)
        where path.section == index {
          let view = collectionView.supplementaryView(forElementKind: kind, at: path)
          if let view { provider.configure(view, section) }
        }
      }
    }
  }
#endif
