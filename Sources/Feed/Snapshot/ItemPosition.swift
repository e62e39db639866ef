/// Where an item stands: its section, and its index among that section's items.
public struct ItemPosition: Sendable, Hashable {
  /// The section that the item is in.
  public var section: SectionIdentifier
  /// Counted from 0 within the section.
  public var index: Int

  /// The `index`-th place of a section.
  public init(section: SectionIdentifier, index: Int) {
    self.section = section
    self.index = index
  }
}
