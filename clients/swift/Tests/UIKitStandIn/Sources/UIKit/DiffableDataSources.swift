// uicollectionviewdiffabledatasource-9tqpa, with init(collectionview:cellprovider:), cellprovider,
// supplementaryviewprovider-swift.property and -swift.typealias; uitableviewdiffabledatasource-2euir, with
// init(tableview:cellprovider:), cellprovider, tableview(_:canEditRowAt:), tableview(_:titleforheaderinsection:).

@_exported import DiffableModel

@MainActor
@preconcurrency
open class UICollectionViewDiffableDataSource<SectionIdentifierType, ItemIdentifierType>:
  DiffableDataSource<UICollectionView, SectionIdentifierType, ItemIdentifierType>
where
  SectionIdentifierType: Hashable, SectionIdentifierType: Sendable, ItemIdentifierType: Hashable,
  ItemIdentifierType: Sendable
{
  public typealias CellProvider = (UICollectionView, IndexPath, ItemIdentifierType) -> UICollectionViewCell?
  public typealias SupplementaryViewProvider = (UICollectionView, String, IndexPath) ->
    UICollectionReusableView?

  public var supplementaryViewProvider: SupplementaryViewProvider? {
    get { supplement }
    set { supplement = newValue }
  }

  public init(collectionView: UICollectionView, cellProvider: @escaping CellProvider) {
    super.init(collectionView, cellProvider)
  }
}

@MainActor
@preconcurrency
open class UITableViewDiffableDataSource<SectionIdentifierType, ItemIdentifierType>:
  DiffableDataSource<UITableView, SectionIdentifierType, ItemIdentifierType>
where
  SectionIdentifierType: Hashable, SectionIdentifierType: Sendable, ItemIdentifierType: Hashable,
  ItemIdentifierType: Sendable
{
  public typealias CellProvider = (UITableView, IndexPath, ItemIdentifierType) -> UITableViewCell?

  public init(tableView: UITableView, cellProvider: @escaping CellProvider) {
    super.init(tableView, cellProvider)
    supplement = { tableView, kind, path in tableView.supplement(kind, path.section) }
  }

  open func tableView(_ tableView: UITableView, canEditRowAt indexPath: IndexPath) -> Bool { false }
  open func tableView(_ tableView: UITableView, titleForHeaderInSection section: Int) -> String? { nil }
}
