// As these pages have them (https://developer.apple.com/documentation/uikit/…): uicollectionview, with
// dequeuereusablecell(withreuseidentifier:for:), dequeuereusablesupplementaryview(ofkind:withreuseidentifier:for:),
// supplementaryview(forelementkind:at:), elementkindsectionheader; uicollectionreusableview, with reuseidentifier;
// uicollectionviewcell; uitableview, with dequeuereusablecell(withidentifier:for:), headerview(forsection:); uitableviewcell;
// uitableviewheaderfooterview; and of Foundation's IndexPath what UIKit adds: init(item:section:), item, section, row.

// UIKit exports Foundation.
@_exported import Foundation

@MainActor open class UIView: NSObject {
  public override init() {}
}

open class UICollectionReusableView: UIView {
  public internal(set) var reuseIdentifier: String?
  // Subclasses of real views have properties of their own; this is what the tests show in them.
  public var text = ""
}

open class UICollectionViewCell: UICollectionReusableView {}

open class UICollectionView: UIView {
  public class var elementKindSectionHeader: String { "UICollectionElementKindSectionHeader" }

  /// The cell that is being reconfigured.
  var existing: UICollectionViewCell?
  var headers: [Int: UICollectionReusableView] = [:]

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
    headers[indexPath.section]
  }
}

open class UITableViewCell: UIView {
  public internal(set) var reuseIdentifier: String?
  public var text = ""
}

open class UITableViewHeaderFooterView: UIView {
  public var text = ""
}

open class UITableView: UIView {
  var existing: UITableViewCell?
  var headers: [Int: UITableViewHeaderFooterView] = [:]
  /// What the table's delegate returns in `tableView(_:viewForHeaderInSection:)`.
  public var header: (Int) -> UITableViewHeaderFooterView? = { _ in nil }

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

  open func headerView(forSection section: Int) -> UITableViewHeaderFooterView? { headers[section] }
}

extension IndexPath {
  public init(item: Int, section: Int) { self.init(indexes: [section, item]) }
  public var section: Int { self[0] }
  public var item: Int { self[1] }
  public var row: Int { self[1] }
}
