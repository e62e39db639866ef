// As these pages have them (https://developer.apple.com/documentation/uikit/…): uicollectionview, with
// dequeuereusablecell(withreuseidentifier:for:), dequeuereusablesupplementaryview(ofkind:withreuseidentifier:for:),
// supplementaryview(forelementkind:at:), indexpathsforvisiblesupplementaryelements(ofkind:), elementkindsectionheader,
// elementkindsectionfooter; uicollectionreusableview, with reuseidentifier; uicollectionviewcell; uitableview, with
// dequeuereusablecell(withidentifier:for:), headerview(forsection:), footerview(forsection:); uitableviewcell;
// uitableviewheaderfooterview; uiview, with window; uiaccessibility, with isreducemotionenabled; and of Foundation's IndexPath what UIKit adds: init(item:section:), item, section, row.

// UIKit exports Foundation.
@_exported import Foundation

@MainActor open class UIView: NSObject {
  public override init() {}
  // The tests set it.
  public var window: UIWindow?
}

open class UIWindow: UIView {}

@MainActor public enum UIAccessibility {
  // The tests set it.
  public static var isReduceMotionEnabled = false
}

open class UICollectionReusableView: UIView {
  public internal(set) var reuseIdentifier: String?
  // Subclasses of real views have properties of their own; this is what the tests show in them.
  public var text = ""
}

open class UICollectionViewCell: UICollectionReusableView {}

open class UICollectionView: UIView, DiffableList {
  public class var elementKindSectionHeader: String { "UICollectionElementKindSectionHeader" }
  public class var elementKindSectionFooter: String { "UICollectionElementKindSectionFooter" }

  public var existing: UICollectionViewCell?
  public var supplementaryKinds: [String] = []
  public var supplementaryViews: [String: [Int: UICollectionReusableView]] = [:]

  open func dequeueReusableCell(
    withReuseIdentifier identifier: String,
    for indexPath: IndexPath
  ) -> UICollectionViewCell {
    if let existing {
      UIKitRules.require(
        existing.reuseIdentifier == identifier,
        "a cell of \(existing.reuseIdentifier ?? "") is reconfigured as \(identifier): it has another kind"
      )
      return existing
    }
    let cell = UICollectionViewCell()
    cell.reuseIdentifier = identifier
    return cell
  }

  open func dequeueReusableSupplementaryView(
    ofKind elementKind: String,
    withReuseIdentifier identifier: String,
    for indexPath: IndexPath
  ) -> UICollectionReusableView {
    let view = UICollectionReusableView()
    view.reuseIdentifier = identifier
    return view
  }

  open func supplementaryView(
    forElementKind elementKind: String,
    at indexPath: IndexPath
  ) -> UICollectionReusableView? {
    supplementaryViews[elementKind]?[indexPath.section]
  }

  open func indexPathsForVisibleSupplementaryElements(ofKind elementKind: String) -> [IndexPath] {
    supplementaryViews[elementKind, default: [:]].keys.map { IndexPath(item: 0, section: $0) }
  }
}

open class UITableViewCell: UIView {
  public internal(set) var reuseIdentifier: String?
  public var text = ""
}

open class UITableViewHeaderFooterView: UIView {
  public var text = ""
}

open class UITableView: UIView, DiffableList {
  public var existing: UITableViewCell?
  public var supplementaryKinds: [String] { ["header", "footer"] }
  public var supplementaryViews: [String: [Int: UITableViewHeaderFooterView]] = [:]
  /// What the table's delegate returns in `tableView(_:viewForHeaderInSection:)`, and for footers.
  public var supplement: (_ kind: String, Int) -> UITableViewHeaderFooterView? = { _, _ in nil }

  open func dequeueReusableCell(
    withIdentifier identifier: String,
    for indexPath: IndexPath
  ) -> UITableViewCell {
    if let existing {
      UIKitRules.require(
        existing.reuseIdentifier == identifier,
        "a cell is reconfigured as one of another kind"
      )
      return existing
    }
    let cell = UITableViewCell()
    cell.reuseIdentifier = identifier
    return cell
  }

  open func headerView(forSection section: Int) -> UITableViewHeaderFooterView? {
    supplementaryViews["header"]?[section]
  }
  open func footerView(forSection section: Int) -> UITableViewHeaderFooterView? {
    supplementaryViews["footer"]?[section]
  }
}

extension IndexPath {
  public init(item: Int, section: Int) { self.init(indexes: [section, item]) }
  public var section: Int { self[0] }
  public var item: Int { self[1] }
  public var row: Int { self[1] }
}
