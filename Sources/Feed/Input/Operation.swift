/// What an event does: the fifteen operations of the protocol, section 2.2.
enum Operation: UInt8 {
  case feedReplace, feedClear, feedDelete, feedReload
  case sectionUpsert, sectionReplace, sectionMove, sectionDelete, sectionReload
  case itemUpsert, itemPatch, itemMove, itemDelete, itemReconfigure, itemReload

  /// In the order of the cases.
  static let names = [
    "feed.replace", "feed.clear", "feed.delete", "feed.reload", "section.upsert", "section.replace",
    "section.move",
    "section.delete", "section.reload", "item.upsert", "item.patch", "item.move", "item.delete",
    "item.reconfigure",
    "item.reload",
  ]

  var name: String { Operation.names[Int(rawValue)] }

  /// The names of the fields that it reads.
  @inline(__always)
  var fieldNames: EventFields.Names {
    switch self {
    case .feedReplace: [.op, .sections]
    case .feedClear, .feedDelete, .feedReload: .op
    case .sectionUpsert: [.op, .section, .data, .at]
    case .sectionReplace: [.op, .section, .items, .data, .at]
    case .sectionMove: [.op, .section, .at]
    case .sectionDelete, .sectionReload: [.op, .section]
    case .itemUpsert: [.op, .item, .section, .kind, .data, .at]
    case .itemPatch: [.op, .item, .data]
    case .itemMove: [.op, .item, .section, .at]
    case .itemDelete, .itemReconfigure, .itemReload: [.op, .item]
    }
  }

  /// The operation of that name, or nil.
  init?(name: ByteSpan) {
    guard name.count >= 9, let operation = Operation.named(name) else { return nil }
    self = operation
  }

  private static func named(_ name: ByteSpan) -> Operation? {
    switch name[0] {
    case UInt8(ascii: "i"):
      if name.matches("item.patch") { return .itemPatch }
      if name.matches("item.upsert") { return .itemUpsert }
      if name.matches("item.move") { return .itemMove }
      if name.matches("item.delete") { return .itemDelete }
      if name.matches("item.reconfigure") { return .itemReconfigure }
      if name.matches("item.reload") { return .itemReload }
    case UInt8(ascii: "s"):
      if name.matches("section.upsert") { return .sectionUpsert }
      if name.matches("section.replace") { return .sectionReplace }
      if name.matches("section.move") { return .sectionMove }
      if name.matches("section.delete") { return .sectionDelete }
      if name.matches("section.reload") { return .sectionReload }
    case UInt8(ascii: "f"):
      if name.matches("feed.replace") { return .feedReplace }
      if name.matches("feed.clear") { return .feedClear }
      if name.matches("feed.delete") { return .feedDelete }
      if name.matches("feed.reload") { return .feedReload }
    default: break
    }
    return nil
  }
}
