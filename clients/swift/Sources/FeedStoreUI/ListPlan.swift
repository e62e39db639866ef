import FeedStoreClient

/// The difference between the view in a list and an update's view, in the terms of diffable data sources. A `.changed` of few entries
/// costs only those; otherwise the sections that are not the same objects are compared.
struct ListPlan {
  /// Everything is shown again, without animation.
  private(set) var isReload = false
  /// Whether identifiers were inserted, deleted or moved.
  private(set) var isReordered = false
  /// The entries that lead to the new identifiers; nil if they are taken from the view.
  private(set) var entries: FeedChange.Entries<ItemID, FeedChange.ItemPlace>?
  /// Insertions, deletions, moves and other cells, of items and sections.
  private(set) var weight = 0
  /// Items that keep their cells, with other content.
  private(set) var reconfigured: Set<ItemID> = []
  /// Items that get other cells.
  private(set) var reloaded: Set<ItemID> = []
  private(set) var reloadedSections: [SectionID] = []
  /// Sections whose headers have other content.
  private(set) var headers: [SectionID] = []
  private(set) var deletedItems: [FeedItem] = []
  private(set) var deletedSections: [FeedSection] = []

  private static let maxEntries = 100
  // As in the daemon's planner.
  private static let maxChangedFraction = 0.5
  private static let minimumItems = 50

  /// - Parameter shown: What the list shows; nil if it shows nothing.
  init(_ update: FeedUpdate, over shown: FeedView?) {
    let view = update.view
    guard let shown, shown.exists else {
      isReload = true
      return
    }
    headers = view.sections.filter { section in
      shown.section(section.id).map { $0 !== section && !$0.isShown(as: section) } ?? false
    }.map(\.id)
    switch update.kind {
    case .standing: break
    case .pending: compare(view, shown)
    case .state, .absent:
      compare(view, shown)
      let items = max(view.itemCount, shown.itemCount)
      let isDisjoint = view.itemCount > 0 && shown.itemCount > 0 && deletedItems.count == shown.itemCount
      isReload =
        isDisjoint
        || items >= Self.minimumItems && Double(weight) > Self.maxChangedFraction * Double(items)
    case .changed(let change): take(change, view, shown)
    }
  }

  var changesCells: Bool {
    isReordered || !(reconfigured.isEmpty && reloaded.isEmpty && reloadedSections.isEmpty)
  }

  private mutating func take(_ change: FeedChange, _ view: FeedView, _ shown: FeedView) {
    let items = change.items
    let placed = items.inserts.map(\.id) + items.moves.map(\.id)
    if change.base == shown.revision, change.epoch == shown.epoch,
      change.sections.deletes.isEmpty, change.sections.inserts.isEmpty, change.sections.moves.isEmpty,
      items.deletes.count + placed.count <= Self.maxEntries
    {
      entries = items
      isReordered = !(items.deletes.isEmpty && placed.isEmpty)
      weight = items.deletes.count + placed.count
      deletedItems = items.deletes.compactMap { view.item($0.id) == nil ? shown.item($0.id) : nil }
      for id in placed + items.reconfigures.map(\.id) + items.reloads.map(\.id) {
        if let item = view.item(id), let former = shown.item(id) { note(item, former) }
      }
    } else {
      compare(view, shown)
    }
    // A producer may also ask for other content or another cell where nothing changed.
    reconfigured.formUnion(items.reconfigures.lazy.map(\.id).filter { shown.item($0) != nil })
    let forced = items.reloads.map(\.id).filter { shown.item($0) != nil && !reloaded.contains($0) }
    reloaded.formUnion(forced)
    reconfigured.subtract(reloaded)
    reloadedSections = change.sections.reloads.map(\.id).filter { shown.section($0) != nil }
    weight += forced.count + reloadedSections.count
  }

  private mutating func note(_ item: FeedItem, _ former: FeedItem) {
    guard former !== item else { return }
    if former.kind.utf8.elementsEqual(item.kind.utf8) {
      reconfigured.insert(item.id)
    } else if reloaded.insert(item.id).inserted {
      weight += 1
    }
  }

  private mutating func compare(_ view: FeedView, _ shown: FeedView) {
    let order = view.sections.map(\.id)
    if order != shown.sections.map(\.id) {
      isReordered = true
      let places = Dictionary(uniqueKeysWithValues: zip(shown.sections.map(\.id), 0...))
      let common = order.compactMap { places[$0] }
      weight += order.count + places.count - 2 * common.count + Self.moves(common)
    }
    for former in shown.sections where view.section(former.id) == nil {
      deletedSections.append(former)
      compare([], former.items[...], view, shown)
    }
    for section in view.sections {
      let former = shown.section(section.id)
      guard former !== section else { continue }
      let (old, new) = (former?.items ?? [], section.items)
      var start = 0
      while start < min(old.count, new.count), Self.isSame(old[start], new[start]) {
        note(new[start], old[start])
        start += 1
      }
      var end = 0
      while end < min(old.count, new.count) - start,
        Self.isSame(old[old.count - 1 - end], new[new.count - 1 - end])
      {
        end += 1
        note(new[new.count - end], old[old.count - end])
      }
      compare(new[start..<new.count - end], old[start..<old.count - end], view, shown)
    }
  }

  /// Compares a part of a section, which differs at its start and at its end.
  private mutating func compare(
    _ new: ArraySlice<FeedItem>,
    _ old: ArraySlice<FeedItem>,
    _ view: FeedView,
    _ shown: FeedView
  ) {
    guard !(new.isEmpty && old.isEmpty) else { return }
    isReordered = true
    let places = Dictionary(uniqueKeysWithValues: zip(old.map(\.id), 0...))
    var common: [Int] = []
    for item in new {
      let place = places[item.id]
      if let place { common.append(place) } else { weight += 1 }
      if let former = shown.item(item.id) { note(item, former) }
    }
    let deleted = old.filter { view.item($0.id) == nil }
    deletedItems += deleted
    weight += deleted.count + Self.moves(common)
  }

  private static func isSame(_ one: FeedItem, _ other: FeedItem) -> Bool {
    one === other || one.id == other.id
  }

  /// How many elements move, if as many as possible stay: those of a longest increasing subsequence.
  private static func moves(_ places: [Int]) -> Int {
    // The least last place of an increasing subsequence, by length.
    var ends: [Int] = []
    for place in places {
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if ends[middle] < place { low = middle + 1 } else { high = middle }
      }
      if low == ends.count { ends.append(place) } else { ends[low] = place }
    }
    return places.count - ends.count
  }
}

extension FeedSection {
  fileprivate func isShown(as other: FeedSection) -> Bool {
    dataText.utf8.elementsEqual(other.dataText.utf8) && from == other.from && of == other.of
      && isPending == other.isPending
  }
}
