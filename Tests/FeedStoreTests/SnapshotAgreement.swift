import Oracle

@testable import Feed
@testable import FeedChecks

extension OracleFeed {
  /// A property of a snapshot that differs from the feed, read in every possible way; nil if none does.
  func complaint(about snapshot: Snapshot) -> String? {
    snapshot.checkInvariants()
    func differs<Value: Equatable>(_ name: String, _ found: Value, _ expected: Value) -> String? {
      found == expected ? nil : "\(name) is \(found), expected \(expected)"
    }
    let whole = [
      differs("numberOfSections", snapshot.numberOfSections, sections.count),
      differs("numberOfItems", snapshot.numberOfItems, itemIDs.count),
      differs("sectionIdentifiers", snapshot.sectionIdentifiers.map(bytes), sectionIDs),
      differs("itemIdentifiers", snapshot.itemIdentifiers.map(bytes), itemIDs),
      differs("checksum", snapshot.checksum, OracleChecksum.of(self)),
    ]
    if let complaint = whole.compactMap({ $0 }).first { return complaint }
    for (number, section) in sections.enumerated() {
      let id = SectionIdentifier(stringLiteral: text(section.id))
      let found = [
        differs("indexOfSection", snapshot.indexOfSection(id), number),
        differs("numberOfItems", try? snapshot.numberOfItems(inSection: id), section.items.count),
        differs(
          "itemIdentifiers",
          try? snapshot.itemIdentifiers(inSection: id).map(bytes),
          section.items.map(\.id)
        ),
        differs("data", snapshot.data(ofSection: id).map { bytes($0) }, section.data),
      ]
      if let complaint = found.compactMap({ $0 }).first { return "section \(id): \(complaint)" }
      if let complaint = complaint(about: snapshot, section, id) { return complaint }
    }
    return nil
  }

  private func complaint(
    about snapshot: Snapshot,
    _ section: OracleSection,
    _ id: SectionIdentifier
  ) -> String? {
    for (index, item) in section.items.enumerated() {
      let itemID = ItemIdentifier(stringLiteral: text(item.id))
      guard snapshot.position(ofItem: itemID) == ItemPosition(section: id, index: index) else {
        return "position of \(itemID) is wrong"
      }
      guard snapshot.sectionIdentifier(containingItem: itemID) == id else {
        return "the section of \(itemID) is wrong"
      }
      guard snapshot.kind(ofItem: itemID).map({ bytes($0) }) == item.kind,
        snapshot.data(ofItem: itemID).map({ bytes($0) }) == item.data
      else { return "the content of \(itemID) is wrong" }
    }
    return nil
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
  private func bytes(_ value: some CustomStringConvertible) -> [UInt8] { Array(value.description.utf8) }
}
