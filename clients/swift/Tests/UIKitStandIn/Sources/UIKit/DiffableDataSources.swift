// The declarations of UIKit that FeedStoreUI uses, as these pages have them (https://developer.apple.com/documentation/uikit/…):
//
// - nsdiffabledatasourcesnapshot-swift.struct, with appendsections(_:), appenditems(_:tosection:), reconfigureitems(_:),
//   reloaditems(_:), reloadsections(_:), indexofsection(_:), sectionidentifiers, itemidentifiers, itemidentifiers(insection:),
//   reconfigureditemidentifiers, reloadeditemidentifiers, reloadedsectionidentifiers
// - uicollectionviewdiffabledatasource-9tqpa, with init(collectionview:cellprovider:), cellprovider,
//   supplementaryviewprovider-swift.property and -swift.typealias, apply(_:animatingdifferences:),
//   apply(_:animatingdifferences:completion:), applysnapshotusingreloaddata(_:), applysnapshotusingreloaddata(_:completion:),
//   snapshot()
// - uitableviewdiffabledatasource-2euir, with the same members of tables
//
// What they do is a model of a list on a screen that is large enough for all items. Where UIKit raises an exception, it notes a
// violation.

import Foundation

/// What UIKit would have refused. Not a part of UIKit.
@MainActor public enum UIKitRules {
  public static var violations: [String] = []
  static func require(_ condition: Bool, _ message: @autoclosure () -> String) {
    if !condition { violations.append(message()) }
  }
}

@preconcurrency
public struct NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>: Sendable
where
  SectionIdentifierType: Hashable, SectionIdentifierType: Sendable, ItemIdentifierType: Hashable,
  ItemIdentifierType: Sendable
{
  public private(set) var sectionIdentifiers: [SectionIdentifierType] = []
  private var items: [SectionIdentifierType: [ItemIdentifierType]] = [:]
  private var sectionOfItem: [ItemIdentifierType: SectionIdentifierType] = [:]
  public private(set) var reconfiguredItemIdentifiers: [ItemIdentifierType] = []
  public private(set) var reloadedItemIdentifiers: [ItemIdentifierType] = []
  public private(set) var reloadedSectionIdentifiers: [SectionIdentifierType] = []
  /// Noted here because a snapshot is made anywhere; those of the data sources are added when it is applied.
  var violations: [String] = []

  public init() {}

  public var numberOfItems: Int { sectionOfItem.count }
  public var numberOfSections: Int { sectionIdentifiers.count }
  public var itemIdentifiers: [ItemIdentifierType] { sectionIdentifiers.flatMap { items[$0] ?? [] } }
  public func itemIdentifiers(inSection identifier: SectionIdentifierType) -> [ItemIdentifierType] {
    items[identifier] ?? []
  }
  public func indexOfSection(_ identifier: SectionIdentifierType) -> Int? {
    sectionIdentifiers.firstIndex(of: identifier)
  }
  public func sectionIdentifier(containingItem identifier: ItemIdentifierType) -> SectionIdentifierType? {
    sectionOfItem[identifier]
  }

  public mutating func appendSections(_ identifiers: [SectionIdentifierType]) {
    for identifier in identifiers {
      require(items[identifier] == nil, "section \(identifier) is appended twice")
      sectionIdentifiers.append(identifier)
      items[identifier] = []
    }
  }

  public mutating func appendItems(
    _ identifiers: [ItemIdentifierType],
    toSection sectionIdentifier: SectionIdentifierType? = nil
  ) {
    guard let section = sectionIdentifier ?? sectionIdentifiers.last, items[section] != nil else {
      return require(false, "items are appended to a section that is not there")
    }
    for identifier in identifiers {
      require(
        sectionOfItem.updateValue(section, forKey: identifier) == nil,
        "item \(identifier) is appended twice"
      )
      items[section]?.append(identifier)
    }
  }

  public mutating func reconfigureItems(_ identifiers: [ItemIdentifierType]) {
    for identifier in identifiers {
      require(sectionOfItem[identifier] != nil, "\(identifier) is reconfigured, but is not there")
    }
    reconfiguredItemIdentifiers += identifiers
  }

  public mutating func reloadItems(_ identifiers: [ItemIdentifierType]) {
    for identifier in identifiers {
      require(sectionOfItem[identifier] != nil, "\(identifier) is reloaded, but is not there")
    }
    reloadedItemIdentifiers += identifiers
  }

  public mutating func reloadSections(_ identifiers: [SectionIdentifierType]) {
    for identifier in identifiers {
      require(items[identifier] != nil, "section \(identifier) is reloaded, but is not there")
    }
    reloadedSectionIdentifiers += identifiers
  }

  private mutating func require(_ condition: Bool, _ message: @autoclosure () -> String) {
    if !condition { violations.append(message()) }
  }
}

/// The cells of a list on the screen, by item, and what applying a snapshot does with them. Not a part of UIKit.
@MainActor
final class ScreenModel<Section: Hashable & Sendable, Item: Hashable & Sendable, Cell: AnyObject> {
  typealias Snapshot = NSDiffableDataSourceSnapshot<Section, Item>
  private(set) var shown = Snapshot()
  /// What the list has on the screen: changed by the differences alone, as the list is.
  private(set) var rows: [(section: Section, items: [Item])] = []
  private(set) var cells: [Item: Cell] = [:]
  private(set) var configured = 0

  func apply(
    _ snapshot: Snapshot,
    isReload: Bool,
    configure: (IndexPath, Item, _ existing: Cell?) -> Cell?,
    header: (_ index: Int, _ isNew: Bool) -> Void
  ) {
    UIKitRules.violations += snapshot.violations
    let former = shown
    shown = snapshot
    if isReload {
      cells = [:]
      rows = []
    } else {
      moveRows(to: snapshot, from: former)
    }
    let formerSections = Set(isReload ? [] : former.sectionIdentifiers)
    let reloadedSections = Set(snapshot.reloadedSectionIdentifiers)
    let (reconfigured, reloaded) = (
      Set(snapshot.reconfiguredItemIdentifiers), Set(snapshot.reloadedItemIdentifiers)
    )
    var remaining: [Item: Cell] = [:]
    for (index, section) in snapshot.sectionIdentifiers.enumerated() {
      let isNew = !formerSections.contains(section) || reloadedSections.contains(section)
      header(index, isNew)
      for (place, item) in snapshot.itemIdentifiers(inSection: section).enumerated() {
        let path = IndexPath(item: place, section: index)
        let existing = reloaded.contains(item) || reloadedSections.contains(section) ? nil : cells[item]
        if let existing, !reconfigured.contains(item) {
          remaining[item] = existing
          continue
        }
        let cell = configure(path, item, existing)
        UIKitRules.require(cell != nil, "the provider returned no cell for \(item)")
        UIKitRules.require(
          existing == nil || cell === existing,
          "\(item) was reconfigured, but got another cell"
        )
        remaining[item] = cell
        configured += 1
      }
    }
    cells = remaining
    if isReload { rows = snapshot.sectionIdentifiers.map { ($0, snapshot.itemIdentifiers(inSection: $0)) } }
    // As the list checks after a batch of updates.
    UIKitRules.require(
      rows.map(\.items.count)
        == snapshot.sectionIdentifiers.map { snapshot.itemIdentifiers(inSection: $0).count },
      "the number of items after the update is not that before it, plus insertions, minus deletions"
    )
    UIKitRules.require(
      rows.map(\.section) == snapshot.sectionIdentifiers && rows.flatMap(\.items) == snapshot.itemIdentifiers,
      "the list shows another order than the snapshot"
    )
  }

  /// The batch of updates that leads from one snapshot to another: removes what leaves its place, then inserts.
  private func moveRows(to snapshot: Snapshot, from former: Snapshot) {
    let stays = Set(former.itemIdentifiers).intersection(snapshot.itemIdentifiers)
    let sections = Set(snapshot.sectionIdentifiers)
    var kept: [Section: [Item]] = [:]
    for (section, items) in rows where sections.contains(section) {
      kept[section] = items.filter {
        stays.contains($0) && snapshot.sectionIdentifier(containingItem: $0) == section
      }
    }
    rows = snapshot.sectionIdentifiers.map { section in
      var items = kept[section] ?? []
      for (place, item) in snapshot.itemIdentifiers(inSection: section).enumerated() {
        guard place >= items.count || items[place] != item else { continue }
        if let index = items.firstIndex(of: item) { items.remove(at: index) }
        items.insert(item, at: min(place, items.count))
      }
      return (section, items)
    }
  }
}

@MainActor
@preconcurrency
open class UICollectionViewDiffableDataSource<SectionIdentifierType, ItemIdentifierType>: NSObject
where
  SectionIdentifierType: Hashable, SectionIdentifierType: Sendable, ItemIdentifierType: Hashable,
  ItemIdentifierType: Sendable
{
  public typealias CellProvider = (UICollectionView, IndexPath, ItemIdentifierType) -> UICollectionViewCell?
  public typealias SupplementaryViewProvider = (UICollectionView, String, IndexPath) ->
    UICollectionReusableView?

  public var supplementaryViewProvider: SupplementaryViewProvider?
  private unowned let collectionView: UICollectionView
  private let cellProvider: CellProvider
  private let screen = ScreenModel<SectionIdentifierType, ItemIdentifierType, UICollectionViewCell>()
  /// How a snapshot was applied. Not a part of UIKit, like `cells` and `configured`.
  public private(set) var calls: [String] = []
  public var cells: [ItemIdentifierType: UICollectionViewCell] { screen.cells }
  public var configured: Int { screen.configured }

  public init(collectionView: UICollectionView, cellProvider: @escaping CellProvider) {
    self.collectionView = collectionView
    self.cellProvider = cellProvider
  }

  open func snapshot() -> NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType> {
    screen.shown
  }

  open func apply(
    _ snapshot: NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>,
    animatingDifferences: Bool = true
  ) async {
    show(snapshot, animatingDifferences ? "apply, animated" : "apply", isReload: false)
  }

  open func apply(
    _ snapshot: NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>,
    animatingDifferences: Bool = true,
    completion: (() -> Void)? = nil
  ) {
    show(snapshot, animatingDifferences ? "apply, animated" : "apply", isReload: false)
    completion?()
  }

  open func applySnapshotUsingReloadData(
    _ snapshot: NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>
  ) async {
    show(snapshot, "applySnapshotUsingReloadData", isReload: true)
  }

  open func applySnapshotUsingReloadData(
    _ snapshot: NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>,
    completion: (() -> Void)? = nil
  ) {
    show(snapshot, "applySnapshotUsingReloadData", isReload: true)
    completion?()
  }

  private func show(
    _ snapshot: NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>,
    _ call: String,
    isReload: Bool
  ) {
    calls.append(call)
    let former = screen.shown
    var headers: [Int: UICollectionReusableView] = [:]
    screen.apply(snapshot, isReload: isReload) { path, item, existing in
      collectionView.existing = existing
      defer { collectionView.existing = nil }
      return cellProvider(collectionView, path, item)
    } header: { index, isNew in
      if !isNew, let place = former.indexOfSection(snapshot.sectionIdentifiers[index]) {
        headers[index] = collectionView.headers[place]
      } else {
        let path = IndexPath(item: 0, section: index)
        headers[index] = supplementaryViewProvider?(
          collectionView,
          UICollectionView.elementKindSectionHeader,
          path
        )
      }
    }
    collectionView.headers = headers
  }
}

@MainActor
@preconcurrency
open class UITableViewDiffableDataSource<SectionIdentifierType, ItemIdentifierType>: NSObject
where
  SectionIdentifierType: Hashable, SectionIdentifierType: Sendable, ItemIdentifierType: Hashable,
  ItemIdentifierType: Sendable
{
  public typealias CellProvider = (UITableView, IndexPath, ItemIdentifierType) -> UITableViewCell?

  private unowned let tableView: UITableView
  private let cellProvider: CellProvider
  private let screen = ScreenModel<SectionIdentifierType, ItemIdentifierType, UITableViewCell>()
  public var cells: [ItemIdentifierType: UITableViewCell] { screen.cells }

  public init(tableView: UITableView, cellProvider: @escaping CellProvider) {
    self.tableView = tableView
    self.cellProvider = cellProvider
  }

  open func snapshot() -> NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType> {
    screen.shown
  }

  open func apply(
    _ snapshot: NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>,
    animatingDifferences: Bool = true
  ) async {
    show(snapshot, isReload: false)
  }

  open func apply(
    _ snapshot: NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>,
    animatingDifferences: Bool = true,
    completion: (() -> Void)? = nil
  ) {
    show(snapshot, isReload: false)
    completion?()
  }

  open func applySnapshotUsingReloadData(
    _ snapshot: NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>
  ) async {
    show(snapshot, isReload: true)
  }

  open func applySnapshotUsingReloadData(
    _ snapshot: NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>,
    completion: (() -> Void)? = nil
  ) {
    show(snapshot, isReload: true)
    completion?()
  }

  private func show(
    _ snapshot: NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>,
    isReload: Bool
  ) {
    let former = screen.shown
    var headers: [Int: UITableViewHeaderFooterView] = [:]
    screen.apply(snapshot, isReload: isReload) { path, item, existing in
      tableView.existing = existing
      defer { tableView.existing = nil }
      return cellProvider(tableView, path, item)
    } header: { index, isNew in
      let place = isNew ? nil : former.indexOfSection(snapshot.sectionIdentifiers[index])
      headers[index] = place.flatMap { tableView.headers[$0] } ?? tableView.header(index)
    }
    tableView.headers = headers
  }
}
