import Feed
import Oracle

/// One edit of a snapshot, as a value: tried on a snapshot and on the model.
enum SnapshotEdit: Sendable {
  case appendSections([String])
  case insertSections([String], next: String, isAfter: Bool)
  case deleteSections([String])
  case moveSection(String, next: String, isAfter: Bool)
  case appendItems([OracleItem], section: String?)
  case appendIdentifiers([String], section: String?)
  case insertItems([OracleItem], next: String, isAfter: Bool)
  case insertIdentifiers([String], next: String, isAfter: Bool)
  case deleteItems([String])
  case deleteAllItems
  case moveItem(String, next: String, isAfter: Bool)
  case setContent(String, kind: String?, data: String?)
  case setSectionData(String, String)
  case reloadItems([String])
  case reconfigureItems([String])
  case reloadSections([String])

  func apply(to snapshot: inout Snapshot) throws {
    switch self {
    case .appendSections(let ids): try snapshot.appendSections(sections(ids))
    case .insertSections(let ids, let anchor, true):
      try snapshot.insertSections(sections(ids), afterSection: SectionIdentifier(validating: anchor))
    case .insertSections(let ids, let anchor, false):
      try snapshot.insertSections(sections(ids), beforeSection: SectionIdentifier(validating: anchor))
    case .deleteSections(let ids): snapshot.deleteSections(try sections(ids))
    case .moveSection(let id, let anchor, true):
      try snapshot.moveSection(
        SectionIdentifier(validating: id),
        afterSection: SectionIdentifier(validating: anchor)
      )
    case .moveSection(let id, let anchor, false):
      try snapshot.moveSection(
        SectionIdentifier(validating: id),
        beforeSection: SectionIdentifier(validating: anchor)
      )
    case .appendItems(let items, let section):
      try snapshot.appendItems(
        items.map(Snapshot.Item.init),
        toSection: try section.map(SectionIdentifier.init(validating:))
      )
    case .appendIdentifiers(let ids, let section):
      try snapshot.appendItems(
        items(ids),
        toSection: try section.map(SectionIdentifier.init(validating:))
      )
    case .insertItems(let items, let anchor, true):
      try snapshot.insertItems(
        items.map(Snapshot.Item.init),
        afterItem: ItemIdentifier(validating: anchor)
      )
    case .insertItems(let items, let anchor, false):
      try snapshot.insertItems(
        items.map(Snapshot.Item.init),
        beforeItem: ItemIdentifier(validating: anchor)
      )
    case .insertIdentifiers(let ids, let anchor, true):
      try snapshot.insertItems(items(ids), afterItem: ItemIdentifier(validating: anchor))
    case .insertIdentifiers(let ids, let anchor, false):
      try snapshot.insertItems(items(ids), beforeItem: ItemIdentifier(validating: anchor))
    case .deleteItems(let ids): snapshot.deleteItems(try items(ids))
    case .deleteAllItems: snapshot.deleteAllItems()
    case .moveItem(let id, let anchor, true):
      try snapshot.moveItem(ItemIdentifier(validating: id), afterItem: ItemIdentifier(validating: anchor))
    case .moveItem(let id, let anchor, false):
      try snapshot.moveItem(ItemIdentifier(validating: id), beforeItem: ItemIdentifier(validating: anchor))
    case .setContent(let id, let kind, let data): try setContent(id, kind, data, &snapshot)
    case .setSectionData(let id, let data):
      try snapshot.setData(JSONData(validating: data), ofSection: SectionIdentifier(validating: id))
    case .reloadItems(let ids): try snapshot.reloadItems(items(ids))
    case .reconfigureItems(let ids): try snapshot.reconfigureItems(items(ids))
    case .reloadSections(let ids): try snapshot.reloadSections(sections(ids))
    }
  }

  private func setContent(_ id: String, _ kind: String?, _ data: String?, _ snapshot: inout Snapshot) throws {
    let item = try ItemIdentifier(validating: id)
    switch (try kind.map(ItemKind.init(validating:)), try data.map(JSONData.init(validating:))) {
    case (let kind?, let data?): try snapshot.setContent(ofItem: item, kind: kind, data: data)
    case (let kind?, nil): try snapshot.setKind(kind, ofItem: item)
    case (nil, let data?): try snapshot.setData(data, ofItem: item)
    case (nil, nil): break
    }
  }

  private func sections(_ ids: [String]) throws -> [SectionIdentifier] {
    try ids.map(SectionIdentifier.init(validating:))
  }

  private func items(_ ids: [String]) throws -> [ItemIdentifier] {
    try ids.map(ItemIdentifier.init(validating:))
  }
}

extension Snapshot.Item {
  /// A model's item, whose identifier, kind and data are known to be valid.
  init(_ item: OracleItem) {
    do {
      self.init(
        try ItemIdentifier(validating: String(decoding: item.id, as: UTF8.self)),
        kind: try ItemKind(validating: String(decoding: item.kind, as: UTF8.self)),
        data: try JSONData(validating: String(decoding: item.data, as: UTF8.self))
      )
    } catch {
      preconditionFailure("a test's item is invalid: \(error)")
    }
  }
}
