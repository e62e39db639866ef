// The declarations of AppKit that FeedStoreUI uses, as these pages have them (https://developer.apple.com/documentation/appkit/…):
//
// - nsdiffabledatasourcesnapshot-swift.struct: unlike UIKit's, it has no reconfigureItems
// - nscollectionviewdiffabledatasource-axww, with init(collectionview:itemprovider:), itemprovider,
//   supplementaryviewprovider-swift.property and -swift.typealias, apply(_:animatingdifferences:completion:), snapshot()
// - nscollectionview, with elementkindsectionheader, makeitem(withidentifier:for:), supplementaryview(forelementkind:at:) and
//   indexpathsforvisiblesupplementaryelements(ofkind:); nscollectionviewitem; nscollectionviewelement; nsview, with window;
//   nsuserinterfaceitemidentifier; nsworkspace, with shared and accessibilitydisplayshouldreducemotion
//
// Without animation, `apply` loads everything again, as its page says.

@_exported import DiffableModel
// AppKit exports Foundation.
@_exported import Foundation

open class NSCollectionViewDiffableDataSource<SectionIdentifierType, ItemIdentifierType>:
  DiffableDataSource<NSCollectionView, SectionIdentifierType, ItemIdentifierType>
where
  SectionIdentifierType: Hashable, SectionIdentifierType: Sendable, ItemIdentifierType: Hashable,
  ItemIdentifierType: Sendable
{
  public typealias ItemProvider = (NSCollectionView, IndexPath, ItemIdentifierType) -> NSCollectionViewItem?
  public typealias SupplementaryViewProvider = (NSCollectionView, String, IndexPath) -> (
    any NSView & NSCollectionViewElement
  )?

  public var supplementaryViewProvider: SupplementaryViewProvider? {
    get { supplement }
    set { supplement = newValue }
  }

  public init(collectionView: NSCollectionView, itemProvider: @escaping ItemProvider) {
    super.init(collectionView, itemProvider)
  }
}

@MainActor open class NSWorkspace: NSObject {
  public static let shared = NSWorkspace()
  // The tests set it.
  public var accessibilityDisplayShouldReduceMotion = false
}

@MainActor open class NSView: NSObject {
  public override init() {}
  // The tests set it.
  public var window: NSWindow?
}

@MainActor open class NSWindow: NSObject {
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

open class NSCollectionView: NSView, DiffableList {
  public typealias SupplementaryElementKind = String
  public class var elementKindSectionHeader: SupplementaryElementKind {
    "UICollectionElementKindSectionHeader"
  }

  public var existing: NSCollectionViewItem?
  public var supplementaryKinds: [String] = []
  public var supplementaryViews: [String: [Int: any NSView & NSCollectionViewElement]] = [:]

  open func supplementaryView(
    forElementKind elementKind: SupplementaryElementKind,
    at indexPath: IndexPath
  ) -> (any NSView & NSCollectionViewElement)? {
    supplementaryViews[elementKind]?[indexPath.section]
  }

  open func indexPathsForVisibleSupplementaryElements(
    ofKind elementKind: SupplementaryElementKind
  ) -> Set<IndexPath> {
    Set(supplementaryViews[elementKind, default: [:]].keys.map { IndexPath(indexes: [$0, 0]) })
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
