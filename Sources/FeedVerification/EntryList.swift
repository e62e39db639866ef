import Feed

/// The lists of a difference, in the order of the document.
enum EntryList: Int {
  case sectionDelete, sectionInsert, sectionMove, sectionReconfigure, sectionReload
  case itemDelete, itemInsert, itemMove, itemReconfigure, itemReload

  var isOfItems: Bool { rawValue >= EntryList.itemDelete.rawValue }

  var name: StaticString {
    switch self {
    case .sectionDelete, .itemDelete: "delete"
    case .sectionInsert, .itemInsert: "insert"
    case .sectionMove, .itemMove: "move"
    case .sectionReconfigure, .itemReconfigure: "reconfigure"
    case .sectionReload, .itemReload: "reload"
    }
  }

  /// As in `items.insert`, for messages.
  var path: String { (isOfItems ? "items." : "sections.") + name.description }

  static let ofSections: [EntryList] = [
    .sectionDelete, .sectionInsert, .sectionMove, .sectionReconfigure, .sectionReload,
  ]
  static let ofItems: [EntryList] = [.itemDelete, .itemInsert, .itemMove, .itemReconfigure, .itemReload]

  /// The entries of this list.
  func entries(of entries: DecodedEntries) -> [DecodedEntries.Entry] {
    let lists = isOfItems ? entries.items : entries.sections
    return switch self {
    case .sectionDelete, .itemDelete: lists.deletes
    case .sectionInsert, .itemInsert: lists.inserts
    case .sectionMove, .itemMove: lists.moves
    case .sectionReconfigure, .itemReconfigure: lists.reconfigures
    case .sectionReload, .itemReload: lists.reloads
    }
  }
}
