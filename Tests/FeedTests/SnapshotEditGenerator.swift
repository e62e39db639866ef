import Feed
import Oracle

/// Random edits, most of which apply: the same for a seed.
struct SnapshotEditGenerator {
  private var random: SplitMix64
  private let itemIDs: [String]
  private let sectionIDs: [String]
  /// How many elements an edit names at most.
  private let batch: Int

  /// - Parameter itemCount: how many identifiers of items there are. Some are equivalent, but not the
  ///   same bytes.
  init(seed: UInt64, itemCount: Int) {
    random = SplitMix64(seed: seed)
    itemIDs =
      ["é", "e\u{301}", "\u{0}", "\"", "à l'heure d'été, un identifiant long"]
      + (0..<itemCount).map { "i\($0)" }
    sectionIDs = ["ü", "u\u{308}"] + (0..<6).map { "s\($0)" }
    batch = max(3, itemCount / 12)
  }

  mutating func edit(_ model: SnapshotModel) -> SnapshotEdit {
    let isAfter = random.chance(50)
    switch random.below(20) {
    case 0: return .appendSections(newSections(model))
    case 1: return .insertSections(newSections(model), next: section(model), isAfter: isAfter)
    case 2: return random.chance(40) ? .deleteSections([section(model), section(model)]) : edit(model)
    case 3: return .moveSection(section(model), next: section(model), isAfter: isAfter)
    case 4: return .setSectionData(section(model), data())
    case 5: return .reloadSections([section(model)])
    case 6...8: return .appendItems(newItems(model), section: random.chance(30) ? nil : section(model))
    case 9: return .appendIdentifiers(newItemIDs(model), section: random.chance(30) ? nil : section(model))
    case 10, 11: return .insertItems(newItems(model), next: item(model), isAfter: isAfter)
    case 12: return .insertIdentifiers(newItemIDs(model), next: item(model), isAfter: isAfter)
    case 13: return .deleteItems((0...random.below(batch)).map { _ in item(model) })
    case 14: return random.chance(3) ? .deleteAllItems : edit(model)
    case 15, 16: return .moveItem(item(model), next: item(model), isAfter: isAfter)
    case 17:
      let changes = random.below(3)
      return .setContent(item(model), kind: changes == 0 ? nil : kind(), data: changes == 1 ? nil : data())
    case 18: return .reloadItems([item(model), item(model)])
    default: return .reconfigureItems([item(model), item(model)])
    }
  }

  /// Mostly one that is there.
  private mutating func item(_ model: SnapshotModel) -> String {
    let present = model.feed.itemIDs
    return present.isEmpty || random.chance(4)
      ? random.pick(itemIDs) : String(decoding: random.pick(present), as: UTF8.self)
  }

  private mutating func section(_ model: SnapshotModel) -> String {
    let present = model.feed.sectionIDs
    return present.isEmpty || random.chance(4)
      ? random.pick(sectionIDs) : String(decoding: random.pick(present), as: UTF8.self)
  }

  /// Mostly ones that are not there.
  private mutating func newItemIDs(_ model: SnapshotModel) -> [String] {
    let present = Set(model.feed.itemIDs)
    var ids = itemIDs.filter { !present.contains(Array($0.utf8)) }.shuffled(using: &random)
      .prefix(random.below(batch + 1))
    if random.chance(4) { ids.append(random.pick(itemIDs)) }
    return Array(ids)
  }

  private mutating func newItems(_ model: SnapshotModel) -> [OracleItem] {
    newItemIDs(model).map {
      OracleItem(id: Array($0.utf8), kind: Array(kind().utf8), data: Array(data().utf8))
    }
  }

  private mutating func newSections(_ model: SnapshotModel) -> [String] {
    let present = Set(model.feed.sectionIDs)
    var ids = sectionIDs.filter { !present.contains(Array($0.utf8)) }.shuffled(using: &random)
      .prefix(random.below(3))
    if random.chance(4) { ids.append(random.pick(sectionIDs)) }
    return Array(ids)
  }

  private mutating func kind() -> String { random.pick(["", "story", "ad", "é", "e\u{301}"]) }

  private mutating func data() -> String {
    random.pick(["null", "1", "1.0", #"{"a":[1,2],"a":"x"}"#, #""é""#, "\"e\u{301}\"", "[]"])
  }
}
