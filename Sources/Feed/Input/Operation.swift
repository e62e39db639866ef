/// What an event does: the fifteen operations of the protocol, section 2.2.
enum Operation {
  case feedReplace, feedClear, feedDelete, feedReload
  case sectionUpsert, sectionReplace, sectionMove, sectionDelete, sectionReload
  case itemUpsert, itemPatch, itemMove, itemDelete, itemReconfigure, itemReload

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
