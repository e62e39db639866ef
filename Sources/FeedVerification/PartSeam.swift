/// How a part of a split changeset begins and ends: what decides whether its first entry had room in the part
/// before.
enum PartSeam: Equatable {
  case none
  /// Of a difference: the lists of the first and last entry, and the first one's bytes.
  case entries(first: EntryList, last: EntryList, firstBytes: Int)
  /// Of a reload: the first section's bytes without items, or those of its first item where it continues
  /// another part's section.
  case sections(isContinued: Bool, firstBytes: Int, lastHasItems: Bool)

  /// The bytes by which the part before would grow if it took this one's first entry, brackets included; nil
  /// where there is none.
  func cost(after previous: PartSeam) -> Int? {
    switch (previous, self) {
    case (.entries(_, let last, _), .entries(let first, _, let bytes)):
      let comma = ChangesetSpelling.comma.utf8CodeUnitCount
      if first == last { return comma + bytes }
      let list =
        PartSeam.count(
          ChangesetSpelling.nameOpening,
          first.name,
          ChangesetSpelling.nameEnd,
          ChangesetSpelling.listEnd
        ) + bytes
      if first.isOfItems == last.isOfItems { return comma + list }
      // The opening has a comma.
      let opening = ChangesetSpelling.groupOpening(ofItems: first.isOfItems)
      return PartSeam.count(opening, ChangesetSpelling.groupEnd) + list
    case (.sections(_, _, let hasItems), .sections(let isContinued, let bytes, _)):
      // A continued section's items begin there if none had room.
      let beginsItems = isContinued && !hasItems
      return bytes
        + (beginsItems
          ? PartSeam.count(ChangesetSpelling.itemsOpening, ChangesetSpelling.listEnd)
          : ChangesetSpelling.comma.utf8CodeUnitCount)
    default: return nil
    }
  }

  private static func count(_ texts: StaticString...) -> Int {
    texts.reduce(0) { $0 + $1.utf8CodeUnitCount }
  }
}
