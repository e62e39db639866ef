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
      if first == last { return 1 + bytes }
      // ,"insert":[…]
      let list = 6 + first.name.utf8CodeUnitCount + bytes
      if first.isOfItems == last.isOfItems { return list }
      // ,"items":{"insert":[…]} has no comma before the list.
      return list - 1 + (first.isOfItems ? 11 : 14)
    case (.sections(_, _, let hasItems), .sections(let isContinued, let bytes, _)):
      // A continued section's items begin there if none had room: ,"items":[…]
      return isContinued && !hasItems ? 11 + bytes : 1 + bytes
    default: return nil
    }
  }
}
