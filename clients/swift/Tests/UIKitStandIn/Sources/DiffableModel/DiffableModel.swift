// What the stand-ins of UIKit and AppKit share: the declarations of UIKit that FeedStoreUI uses, as these pages have them
// (https://developer.apple.com/documentation/uikit/…), and AppKit's, which lack what is not compiled with APPKIT:
//
// - nsdiffabledatasourcesnapshot-swift.struct, with appendsections(_:), appenditems(_:tosection:), insertitems(_:beforeitem:),
//   insertitems(_:afteritem:), moveitem(_:beforeitem:), moveitem(_:afteritem:), deleteitems(_:), reconfigureitems(_:),
//   reloaditems(_:), reloadsections(_:), indexofsection(_:), sectionidentifier(containingitem:), sectionidentifiers,
//   itemidentifiers, itemidentifiers(insection:), reconfigureditemidentifiers, reloadeditemidentifiers, reloadedsectionidentifiers
// - apply(_:animatingdifferences:), apply(_:animatingdifferences:completion:), applysnapshotusingreloaddata(_:),
//   applysnapshotusingreloaddata(_:completion:), snapshot() of uicollectionviewdiffabledatasource-9tqpa, which those of tables and
//   AppKit have, too
//
// What they do is a model of a list on a screen that is large enough for all items. Where UIKit raises an exception, it notes a
// violation.

import Foundation

/// What UIKit would have refused. Not a part of UIKit.
@MainActor public enum UIKitRules {
  public static var violations: [String] = []
  /// How many identifiers snapshots were edited with.
  nonisolated(unsafe) public static var edits = 0
  public static func require(_ condition: Bool, _ message: @autoclosure () -> String) {
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
  // Noted here because a snapshot is made anywhere; they are added to the rules' when it is applied.
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
    UIKitRules.edits += identifiers.count
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
    guard let section = sectionIdentifier ?? sectionIdentifiers.last, let count = items[section]?.count else {
      return require(false, "items are appended to a section that is not there")
    }
    insert(identifiers, in: section, at: count)
  }

  private mutating func insert(
    _ identifiers: [ItemIdentifierType],
    in section: SectionIdentifierType,
    at index: Int
  ) {
    UIKitRules.edits += identifiers.count
    for identifier in identifiers {
      require(
        sectionOfItem.updateValue(section, forKey: identifier) == nil,
        "item \(identifier) is inserted twice"
      )
    }
    items[section]?.insert(contentsOf: identifiers, at: index)
  }

  private mutating func insert(
    _ identifiers: [ItemIdentifierType],
    at other: ItemIdentifierType,
    _ offset: Int
  ) {
    guard let section = sectionOfItem[other], let index = items[section]?.firstIndex(of: other) else {
      return require(false, "items are inserted beside \(other), which is not there")
    }
    insert(identifiers, in: section, at: index + offset)
  }

  public mutating func insertItems(_ identifiers: [ItemIdentifierType], beforeItem: ItemIdentifierType) {
    insert(identifiers, at: beforeItem, 0)
  }

  public mutating func insertItems(_ identifiers: [ItemIdentifierType], afterItem: ItemIdentifierType) {
    insert(identifiers, at: afterItem, 1)
  }

  public mutating func moveItem(_ identifier: ItemIdentifierType, beforeItem: ItemIdentifierType) {
    deleteItems([identifier])
    insert([identifier], at: beforeItem, 0)
  }

  public mutating func moveItem(_ identifier: ItemIdentifierType, afterItem: ItemIdentifierType) {
    deleteItems([identifier])
    insert([identifier], at: afterItem, 1)
  }

  public mutating func deleteItems(_ identifiers: [ItemIdentifierType]) {
    UIKitRules.edits += identifiers.count
    for identifier in identifiers {
      guard let section = sectionOfItem.removeValue(forKey: identifier) else {
        require(false, "\(identifier) is deleted or moved, but is not there")
        continue
      }
      items[section]?.removeAll { $0 == identifier }
    }
  }

  #if !APPKIT
    public mutating func reconfigureItems(_ identifiers: [ItemIdentifierType]) {
      for identifier in identifiers {
        require(sectionOfItem[identifier] != nil, "\(identifier) is reconfigured, but is not there")
      }
      reconfiguredItemIdentifiers += identifiers
    }
  #endif

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

/// A collection or table view. Not a part of UIKit, like all members of data sources that have no page.
@MainActor public protocol DiffableList: AnyObject {
  associatedtype Cell: AnyObject
  associatedtype SupplementaryView
  /// The cell that is being reconfigured.
  var existing: Cell? { get set }
  /// The kinds of which each section has a view, and the views on the screen by section.
  var supplementaryKinds: [String] { get }
  var supplementaryViews: [String: [Int: SupplementaryView]] { get set }
}

@MainActor
@preconcurrency
open class DiffableDataSource<List: DiffableList, Section, Item>: NSObject
where Section: Hashable, Section: Sendable, Item: Hashable, Item: Sendable {
  public typealias Snapshot = NSDiffableDataSourceSnapshot<Section, Item>

  private unowned let list: List
  private let provider: (List, IndexPath, Item) -> List.Cell?
  public var supplement: ((List, String, IndexPath) -> List.SupplementaryView?)?
  private var shown = Snapshot()
  /// What the list has on the screen: changed by the differences alone, as the list is.
  private var rows: [(section: Section, items: [Item])] = []
  public private(set) var cells: [Item: List.Cell] = [:]
  public private(set) var configured = 0
  /// How snapshots were applied.
  public private(set) var calls: [String] = []

  public init(_ list: List, _ provider: @escaping (List, IndexPath, Item) -> List.Cell?) {
    (self.list, self.provider) = (list, provider)
  }

  open func snapshot() -> Snapshot { shown }

  open func apply(_ snapshot: Snapshot, animatingDifferences: Bool = true, completion: (() -> Void)? = nil) {
    calls.append(animatingDifferences ? "apply, animated" : "apply")
    #if APPKIT
      show(snapshot, isReload: !animatingDifferences)
    #else
      show(snapshot, isReload: false)
    #endif
    completion?()
  }

  #if !APPKIT
    open func apply(_ snapshot: Snapshot, animatingDifferences: Bool = true) async {
      apply(snapshot, animatingDifferences: animatingDifferences, completion: nil)
    }

    open func applySnapshotUsingReloadData(_ snapshot: Snapshot) async {
      applySnapshotUsingReloadData(snapshot, completion: nil)
    }

    open func applySnapshotUsingReloadData(_ snapshot: Snapshot, completion: (() -> Void)? = nil) {
      calls.append("applySnapshotUsingReloadData")
      show(snapshot, isReload: true)
      completion?()
    }
  #endif

  private func show(_ snapshot: Snapshot, isReload: Bool) {
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
    var remaining: [Item: List.Cell] = [:]
    var supplements: [String: [Int: List.SupplementaryView]] = [:]
    for (index, section) in snapshot.sectionIdentifiers.enumerated() {
      let isNew = !formerSections.contains(section) || reloadedSections.contains(section)
      for kind in list.supplementaryKinds {
        let place = isNew ? nil : former.indexOfSection(section)
        supplements[kind, default: [:]][index] =
          place.flatMap { list.supplementaryViews[kind]?[$0] }
          ?? supplement?(list, kind, IndexPath(indexes: [index, 0]))
      }
      for (place, item) in snapshot.itemIdentifiers(inSection: section).enumerated() {
        let existing = reloaded.contains(item) || reloadedSections.contains(section) ? nil : cells[item]
        if let existing, !reconfigured.contains(item) {
          remaining[item] = existing
          continue
        }
        list.existing = existing
        let cell = provider(list, IndexPath(indexes: [index, place]), item)
        list.existing = nil
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
    list.supplementaryViews = supplements
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
