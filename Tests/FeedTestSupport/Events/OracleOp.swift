/// What an event does.
public enum OracleOp: String, Sendable, CaseIterable {
  case feedReplace = "feed.replace"
  case feedClear = "feed.clear"
  case feedDelete = "feed.delete"
  case feedReload = "feed.reload"
  case sectionUpsert = "section.upsert"
  case sectionReplace = "section.replace"
  case sectionMove = "section.move"
  case sectionDelete = "section.delete"
  case sectionReload = "section.reload"
  case itemUpsert = "item.upsert"
  case itemPatch = "item.patch"
  case itemMove = "item.move"
  case itemDelete = "item.delete"
  case itemReconfigure = "item.reconfigure"
  case itemReload = "item.reload"

  private static let rules = Dictionary(
    uniqueKeysWithValues: allCases.map { op in
      (op, Rule.allCases.first { $0.rawValue == "2.2 \(op.rawValue)" })
    }
  )

  /// The rule that it has its effect.
  var rule: Rule { Self.rules[self].flatMap(\.self) ?? .allOrNothing }
}
