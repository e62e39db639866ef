import Feed
import Oracle

/// A snapshot in plain arrays: slow, and plain to see that it is right.
struct SnapshotModel: Equatable {
  var feed = OracleFeed()
  var reloadedItems: Set<[UInt8]> = []
  var reconfiguredItems: Set<[UInt8]> = []
  var reloadedSections: Set<[UInt8]> = []

  /// The model with the edit, or the error's code.
  func applying(_ edit: SnapshotEdit) -> Result<SnapshotModel, SnapshotModelError> {
    var copy = self
    do throws(SnapshotModelError) {
      try copy.apply(edit)
      copy.forgetDeleted()
      return .success(copy)
    } catch {
      return .failure(error)
    }
  }

  private mutating func forgetDeleted() {
    let items = Set(feed.itemIDs)
    reloadedItems.formIntersection(items)
    reconfiguredItems.formIntersection(items)
    reloadedSections.formIntersection(feed.sectionIDs)
  }

  private mutating func apply(_ edit: SnapshotEdit) throws(SnapshotModelError) {
    switch edit {
    case .appendSections(let ids): try insert(ids, at: feed.sections.count)
    case .insertSections(let ids, let anchor, let isAfter):
      try insert(ids, at: sectionIndex(anchor) + (isAfter ? 1 : 0))
    case .deleteSections(let ids):
      let gone = Set(ids.map(bytes))
      feed.sections.removeAll { gone.contains($0.id) }
    case .moveSection(let id, let anchor, let isAfter):
      let index = try sectionIndex(id)
      _ = try sectionIndex(anchor)
      guard bytes(id) != bytes(anchor) else { throw SnapshotModelError(.selfMove) }
      let section = feed.sections.remove(at: index)
      let target = try sectionIndex(anchor) + (isAfter ? 1 : 0)
      feed.sections.insert(section, at: target)
    case .appendItems(let items, let section):
      let index = try section.map { (id) throws(SnapshotModelError) in try sectionIndex(id) }
      guard let index = index ?? feed.sections.indices.last else { throw SnapshotModelError(.noSection) }
      try insert(items, section: index, at: feed.sections[index].items.count)
    case .appendIdentifiers(let ids, let section):
      try apply(.appendItems(ids.map { OracleItem(id: bytes($0)) }, section: section))
    case .insertItems(let items, let anchor, let isAfter):
      try insert(items, next: anchor, isAfter: isAfter)
    case .insertIdentifiers(let ids, let anchor, let isAfter):
      try insert(ids.map { OracleItem(id: bytes($0)) }, next: anchor, isAfter: isAfter)
    case .deleteItems(let ids):
      let gone = Set(ids.map(bytes))
      for section in feed.sections.indices {
        feed.sections[section].items.removeAll { gone.contains($0.id) }
      }
    case .deleteAllItems: feed = OracleFeed()
    case .moveItem(let id, let anchor, let isAfter):
      let from = try location(id)
      _ = try location(anchor)
      guard bytes(id) != bytes(anchor) else { throw SnapshotModelError(.selfMove) }
      let item = feed.sections[from.section].items.remove(at: from.index)
      try insert([item], next: anchor, isAfter: isAfter)
    case .setContent(let id, let kind, let data):
      let location = try location(id)
      if let kind { feed.sections[location.section].items[location.index].kind = bytes(kind) }
      if let data { feed.sections[location.section].items[location.index].data = bytes(data) }
    case .setSectionData(let id, let data):
      let index = try sectionIndex(id)
      feed.sections[index].data = bytes(data)
    case .reloadItems(let ids):
      for id in ids { _ = try location(id) }
      reloadedItems.formUnion(ids.map(bytes))
      reconfiguredItems.subtract(reloadedItems)
    case .reconfigureItems(let ids):
      for id in ids { _ = try location(id) }
      reconfiguredItems.formUnion(Set(ids.map(bytes)).subtracting(reloadedItems))
    case .reloadSections(let ids):
      for id in ids { _ = try sectionIndex(id) }
      reloadedSections.formUnion(ids.map(bytes))
    }
  }

  private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  private func sectionIndex(_ id: String) throws(SnapshotModelError) -> Int {
    guard let index = feed.sectionIndex(of: bytes(id)) else { throw SnapshotModelError(.unknownSection) }
    return index
  }

  private func location(_ id: String) throws(SnapshotModelError) -> OracleFeed.Location {
    guard let location = feed.location(of: bytes(id)) else { throw SnapshotModelError(.unknownItem) }
    return location
  }

  private mutating func insert(_ ids: [String], at index: Int) throws(SnapshotModelError) {
    let new = ids.map(bytes)
    guard Set(new).count == new.count, Set(new).isDisjoint(with: feed.sectionIDs) else {
      throw SnapshotModelError(.duplicateIdentifier)
    }
    feed.sections.insert(contentsOf: new.map { OracleSection(id: $0) }, at: index)
  }

  private mutating func insert(
    _ items: [OracleItem],
    next anchor: String,
    isAfter: Bool
  ) throws(SnapshotModelError) {
    let location = try location(anchor)
    try insert(items, section: location.section, at: location.index + (isAfter ? 1 : 0))
  }

  private mutating func insert(
    _ items: [OracleItem],
    section: Int,
    at index: Int
  ) throws(SnapshotModelError) {
    let new = Set(items.map(\.id))
    guard new.count == items.count, new.isDisjoint(with: feed.itemIDs) else {
      throw SnapshotModelError(.duplicateIdentifier)
    }
    feed.sections[section].items.insert(contentsOf: items, at: index)
  }
}

/// The code of the error that an edit should end with.
struct SnapshotModelError: Error, Equatable {
  let code: SnapshotError.Code

  init(_ code: SnapshotError.Code) { self.code = code }
}
