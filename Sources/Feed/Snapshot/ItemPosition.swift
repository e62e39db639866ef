/// Where an item stands: its section, and its index among that section's items.
public struct ItemPosition: Sendable, Hashable {
  public var section: SectionIdentifier
  /// Counted from 0 within the section.
  public var index: Int

  public init(section: SectionIdentifier, index: Int) {
    self.section = section
    self.index = index
  }
}
