/// Where an item stands in a list view: UIKit's `IndexPath(item:section:)`.
public struct ItemPath: Sendable, Hashable {
  /// The section, counted from 0.
  public var section: Int
  /// The item within the section, counted from 0.
  public var item: Int

  /// Makes a path.
  public init(section: Int, item: Int) {
    self.section = section
    self.item = item
  }
}
