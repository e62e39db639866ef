import Oracle

@testable import Feed

/// What the difference of two models must be, found the slow way. Only the choice among the fewest
/// moves is open.
struct SnapshotExpectation {
  private let old: SnapshotModel
  private let new: SnapshotModel

  init(from old: SnapshotModel, to new: SnapshotModel) {
    self.old = old
    self.new = new
  }

  /// What is wrong with a difference; nil if nothing is.
  func complaint(about difference: SnapshotDifference) -> String? {
    let sections = difference.sections
    let items = difference.items
    if sections.deletes != sectionDeletes { return "section deletes: \(sections.deletes)" }
    if sections.inserts != sectionEntries({ $1 == nil }) { return "section inserts: \(sections.inserts)" }
    let reloadedSections = new.reloadedSections
    if sections.reloads != sectionEntries({ $1 != nil && reloadedSections.contains($0.id) }) {
      return "section reloads: \(sections.reloads)"
    }
    let reconfigures = sectionEntries {
      $1 != nil && $1?.data != $0.data && !reloadedSections.contains($0.id)
    }
    if sections.reconfigures != reconfigures { return "section reconfigures: \(sections.reconfigures)" }
    if items.deletes != itemDeletes { return "item deletes: \(items.deletes)" }
    if items.inserts != itemEntries({ $1 == nil }) { return "item inserts: \(items.inserts)" }
    if items.reloads != itemEntries(isReload) { return "item reloads: \(items.reloads)" }
    let reconfigured = itemEntries { item, before in
      guard let before, !isReload(item, before) else { return false }
      return item.data != before.data || new.reconfiguredItems.contains(item.id)
    }
    let expected = reconfigured.map {
      ItemChanges.Entry(id: $0.id, position: $0.position, data: $0.data)
    }
    if items.reconfigures != expected { return "item reconfigures: \(items.reconfigures)" }
    return sectionMoveComplaint(sections.moves) ?? itemMoveComplaint(items.moves)
  }

  private func isReload(_ item: OracleItem, _ before: OracleItem?) -> Bool {
    guard let before else { return false }
    return item.kind != before.kind || new.reloadedItems.contains(item.id)
  }

  // MARK: Entries

  private var sectionDeletes: [SectionChanges.Delete] {
    old.feed.sections.enumerated().filter { new.feed.section($1.id) == nil }
      .map { SectionChanges.Delete(id: sectionID($1.id), position: $0) }
  }

  private func sectionEntries(_ isListed: (OracleSection, OracleSection?) -> Bool) -> [SectionChanges.Entry] {
    new.feed.sections.enumerated().filter { isListed($1, old.feed.section($1.id)) }
      .map { SectionChanges.Entry(id: sectionID($1.id), position: $0, data: JSONData($1.data)) }
  }

  private var itemDeletes: [ItemChanges.Delete] {
    let remaining = Set(new.feed.itemIDs)
    return old.feed.sections.filter { new.feed.section($0.id) != nil }
      .flatMap { section in
        section.items.enumerated().filter { !remaining.contains($1.id) }.map { index, item in
          ItemChanges.Delete(id: itemID(item.id), position: position(section, index))
        }
      }
  }

  private func itemEntries(_ isListed: (OracleItem, OracleItem?) -> Bool) -> [ItemChanges.Entry] {
    let before = old.feed.itemsByID
    return new.feed.sections.flatMap { section in
      section.items.enumerated().filter { isListed($1, before[$1.id]) }.map { index, item in
        ItemChanges.Entry(
          id: itemID(item.id),
          position: position(section, index),
          kind: ItemKind(stringLiteral: String(decoding: item.kind, as: UTF8.self)),
          data: JSONData(item.data)
        )
      }
    }
  }

  // MARK: Moves

  private func sectionMoveComplaint(_ moves: [SectionChanges.Move]) -> String? {
    for move in moves {
      guard old.feed.sectionIDs.firstIndex(of: Array(move.id.description.utf8)) == move.from,
        new.feed.sectionIDs.firstIndex(of: Array(move.id.description.utf8)) == move.to
      else { return "section move: \(move)" }
    }
    if moves.map(\.to) != moves.map(\.to).sorted() { return "section moves are not sorted: \(moves)" }
    return orderComplaint(
      old.feed.sectionIDs,
      new.feed.sectionIDs,
      moves.map { Array($0.id.description.utf8) }
    )
  }

  private func itemMoveComplaint(_ moves: [ItemChanges.Move]) -> String? {
    let before = positions(old.feed)
    let after = positions(new.feed)
    for move in moves where before[move.id] != move.from || after[move.id] != move.to {
      return "item move: \(move)"
    }
    let order = Dictionary(uniqueKeysWithValues: new.feed.itemIDs.enumerated().map { ($1, $0) })
    let moved = moves.map { Array($0.id.description.utf8) }
    let ranks = moved.compactMap { order[$0] }
    if ranks != ranks.sorted() { return "item moves are not sorted: \(moves)" }
    let crossings = Set(after.filter { before[$0]?.section != nil && before[$0]?.section != $1.section }.keys)
    if !crossings.isSubset(of: moves.map(\.id)) { return "an item that changed its section is not moved" }
    for section in new.feed.sections {
      let oldItems = old.feed.section(section.id)?.items.map(\.id) ?? []
      if let complaint = orderComplaint(oldItems, section.items.map(\.id), moved) {
        return "section \(sectionID(section.id)): \(complaint)"
      }
    }
    return nil
  }

  private func orderComplaint(_ old: [[UInt8]], _ new: [[UInt8]], _ moved: [[UInt8]]) -> String? {
    let moved = Set(moved)
    let ranks = Dictionary(uniqueKeysWithValues: old.enumerated().map { ($1, $0) })
    let common = new.filter { ranks[$0] != nil }
    let kept = common.filter { !moved.contains($0) }.compactMap { ranks[$0] }
    if kept != kept.sorted() { return "what is not moved does not keep its order" }
    let fewest = common.count - SnapshotExpectation.longestIncreasing(common.compactMap { ranks[$0] })
    let count = common.count - kept.count
    return count == fewest ? nil : "\(count) moves where \(fewest) are enough"
  }

  /// The length of a longest increasing subsequence, in quadratic time.
  static func longestIncreasing(_ values: [Int]) -> Int {
    var lengths: [Int] = []
    for (index, value) in values.enumerated() {
      lengths.append(1 + ((0..<index).lazy.filter { values[$0] < value }.map { lengths[$0] }.max() ?? 0))
    }
    return lengths.max() ?? 0
  }

  private func positions(_ feed: OracleFeed) -> [ItemIdentifier: ItemPosition] {
    var positions: [ItemIdentifier: ItemPosition] = [:]
    for section in feed.sections {
      for (index, item) in section.items.enumerated() {
        positions[itemID(item.id)] = position(section, index)
      }
    }
    return positions
  }

  private func position(_ section: OracleSection, _ index: Int) -> ItemPosition {
    ItemPosition(section: sectionID(section.id), index: index)
  }

  private func sectionID(_ id: [UInt8]) -> SectionIdentifier {
    SectionIdentifier(stringLiteral: String(decoding: id, as: UTF8.self))
  }

  private func itemID(_ id: [UInt8]) -> ItemIdentifier {
    ItemIdentifier(stringLiteral: String(decoding: id, as: UTF8.self))
  }
}

extension JSONData {
  /// A model's data, which is known to be JSON without white space.
  fileprivate init(_ bytes: [UInt8]) { self = bytes.withUnsafeBytes { JSONData(checked: ByteSpan($0)) } }
}
