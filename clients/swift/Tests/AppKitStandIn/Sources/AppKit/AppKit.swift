// The declarations of AppKit that FeedStoreUI uses, as these pages have them (https://developer.apple.com/documentation/appkit/…):
//
// - nsdiffabledatasourcesnapshot-swift.struct: unlike UIKit's, it has no reconfigureItems and nothing that is Sendable
// - nscollectionviewdiffabledatasource-axww, with init(collectionview:itemprovider:), itemprovider,
//   supplementaryviewprovider-swift.property and -swift.typealias, apply(_:animatingdifferences:completion:), snapshot()
// - nscollectionview, with elementkindsectionheader and makeitem(withidentifier:for:); nscollectionviewitem;
//   nscollectionviewelement; nsview; nsuserinterfaceitemidentifier
//
// Without animation, `apply` loads everything again, as its page says. Mistakes that AppKit raises an exception for end the process.

// AppKit exports Foundation.
@_exported import Foundation

public struct NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>
where SectionIdentifierType: Hashable, ItemIdentifierType: Hashable {
  public private(set) var sectionIdentifiers: [SectionIdentifierType] = []
  private var sections: [SectionIdentifierType: [ItemIdentifierType]] = [:]
  var reloaded: Set<ItemIdentifierType> = []

  public init() {}

  public var itemIdentifiers: [ItemIdentifierType] { sectionIdentifiers.flatMap { sections[$0] ?? [] } }
  public func itemIdentifiers(inSection identifier: SectionIdentifierType) -> [ItemIdentifierType] {
    sections[identifier] ?? []
  }

  public mutating func appendSections(_ identifiers: [SectionIdentifierType]) {
    for identifier in identifiers {
      precondition(sections.updateValue([], forKey: identifier) == nil, "a section is appended twice")
      sectionIdentifiers.append(identifier)
    }
  }

  public mutating func appendItems(
    _ identifiers: [ItemIdentifierType],
    toSection sectionIdentifier: SectionIdentifierType? = nil
  ) {
    guard let section = sectionIdentifier ?? sectionIdentifiers.last, sections[section] != nil else {
      preconditionFailure("there is no such section")
    }
    precondition(Set(itemIdentifiers).isDisjoint(with: identifiers), "an item is appended twice")
    sections[section]? += identifiers
  }

  public mutating func reloadItems(_ identifiers: [ItemIdentifierType]) {
    precondition(Set(identifiers).isSubset(of: itemIdentifiers), "an item is reloaded that is not there")
    reloaded.formUnion(identifiers)
  }

  public mutating func reloadSections(_ identifiers: [SectionIdentifierType]) {
    precondition(Set(identifiers).isSubset(of: sectionIdentifiers), "a section is reloaded that is not there")
    for identifier in identifiers { reloaded.formUnion(sections[identifier] ?? []) }
  }
}

open class NSCollectionViewDiffableDataSource<SectionIdentifierType, ItemIdentifierType>: NSObject
where SectionIdentifierType: Hashable, ItemIdentifierType: Hashable {
  public typealias ItemProvider = (NSCollectionView, IndexPath, ItemIdentifierType) -> NSCollectionViewItem?
  public typealias SupplementaryViewProvider = (NSCollectionView, String, IndexPath) -> (
    any NSView & NSCollectionViewElement
  )?

  public var supplementaryViewProvider: SupplementaryViewProvider?
  private let collectionView: NSCollectionView
  private let itemProvider: ItemProvider
  private var shown = NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>()
  /// What is on the screen. Not a part of AppKit, like `made`.
  public private(set) var items: [ItemIdentifierType: NSCollectionViewItem] = [:]
  public private(set) var made = 0

  public init(collectionView: NSCollectionView, itemProvider: @escaping ItemProvider) {
    (self.collectionView, self.itemProvider) = (collectionView, itemProvider)
  }

  open func snapshot() -> NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType> { shown }

  open func apply(
    _ snapshot: NSDiffableDataSourceSnapshot<SectionIdentifierType, ItemIdentifierType>,
    animatingDifferences: Bool = true,
    completion: (() -> Void)? = nil
  ) {
    let former = animatingDifferences ? items : [:]
    items = [:]
    for (index, section) in snapshot.sectionIdentifiers.enumerated() {
      for (place, item) in snapshot.itemIdentifiers(inSection: section).enumerated() {
        if let existing = former[item], !snapshot.reloaded.contains(item) {
          items[item] = existing
        } else {
          items[item] = itemProvider(collectionView, IndexPath(indexes: [index, place]), item)
          made += 1
        }
      }
    }
    shown = snapshot
    completion?()
  }
}

@MainActor open class NSView: NSObject {
  public override init() {}
}

@MainActor public protocol NSCollectionViewElement: NSObjectProtocol {}

public struct NSUserInterfaceItemIdentifier: Hashable, Sendable, RawRepresentable {
  public var rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
  public init(_ rawValue: String) { self.rawValue = rawValue }
}

@MainActor open class NSCollectionViewItem: NSObject {
  public override init() {}
  // What the tests show in it.
  public var text = ""
}

open class NSCollectionView: NSView {
  public typealias SupplementaryElementKind = String
  public class var elementKindSectionHeader: SupplementaryElementKind {
    "UICollectionElementKindSectionHeader"
  }

  open func makeItem(
    withIdentifier identifier: NSUserInterfaceItemIdentifier,
    for indexPath: IndexPath
  ) -> NSCollectionViewItem {
    NSCollectionViewItem()
  }
}

extension IndexPath {
  public var section: Int { self[0] }
  public var item: Int { self[1] }
}
