@testable import Feed

/// What a collection view shows, and what it does with a stage: it refuses what UIKit raises for.
struct CollectionViewSimulator {
  struct Section: Equatable {
    var id: SectionIdentifier
    var items: [ItemIdentifier]
  }

  struct Refusal: Error, CustomStringConvertible {
    let description: String
  }

  private(set) var sections: [Section]
  /// Cells that were configured or created again.
  private(set) var renewed: Set<ItemIdentifier> = []

  init(_ snapshot: Snapshot) { sections = Self.sections(of: snapshot) }

  static func sections(of snapshot: Snapshot) -> [Section] {
    snapshot.sectionIdentifiers.map {
      Section(id: $0, items: (try? snapshot.itemIdentifiers(inSection: $0)) ?? [])
    }
  }

  mutating func perform(_ stage: BatchStage) throws {
    try check(stage)
    let target = Self.sections(of: stage.snapshot)
    // Items leave by where they were.
    let before = sections
    for path in stage.deletedItems + stage.movedItems.map(\.from) {
      sections[path.section].items.removeAll { $0 == before[path.section].items[path.item] }
    }
    let leaving = Set(stage.deletedSections + stage.movedSections.map(\.from))
    let left = sections
    sections = left.indices.filter { !leaving.contains($0) }.map { left[$0] }
    // Sections come to where they will be; new ones have what the data source says.
    var arriving: [(Int, Section)] = stage.insertedSections.map { ($0, target[$0]) }
    arriving += stage.movedSections.map { ($0.to, left[$0.from]) }
    for (index, section) in arriving.sorted(by: { $0.0 < $1.0 }) { sections.insert(section, at: index) }
    // Items too.
    var items = stage.insertedItems.map { ($0, target[$0.section].items[$0.item]) }
    items += stage.movedItems.map { ($0.to, before[$0.from.section].items[$0.from.item]) }
    for (path, item) in items.sorted(by: { ($0.0.section, $0.0.item) < ($1.0.section, $1.0.item) }) {
      sections[path.section].items.insert(item, at: path.item)
    }
    for path in stage.reconfiguredItems + stage.reloadedItems {
      renewed.insert(sections[path.section].items[path.item])
    }
    for section in stage.reloadedSections { renewed.formUnion(sections[section].items) }
    guard sections == target else {
      throw Refusal(description: "invalid update: the view has \(sections), the data source \(target)")
    }
  }

  private func check(_ stage: BatchStage) throws {
    let froms = stage.deletedItems + stage.movedItems.map(\.from)
    let tos = stage.insertedItems + stage.movedItems.map(\.to)
    let contents = stage.reconfiguredItems + stage.reloadedItems
    for paths in [froms, tos, contents] where Set(paths).count != paths.count {
      throw Refusal(description: "an item is named twice")
    }
    if stage.hasStructure, stage.hasContent {
      throw Refusal(description: "items are reloaded while others have no certain places")
    }
    let gone = Set(stage.deletedSections + stage.movedSections.map(\.from))
    let new = Set(stage.insertedSections + stage.movedSections.map(\.to))
    if froms.contains(where: { gone.contains($0.section) })
      || tos.contains(where: { new.contains($0.section) })
    {
      throw Refusal(description: "an item is changed in a section that comes, goes or moves")
    }
    if contents.contains(where: { stage.reloadedSections.contains($0.section) }) {
      throw Refusal(description: "an item is reloaded twice")
    }
  }
}
