import FeedStoreClient

/// What an update asks of a list on the screen, in the terms of diffable data sources: their identifiers, and which of them to load
/// again. Deletions, insertions and moves follow from the identifiers.
struct ListPlan {
  /// Everything is shown again, without animation; the other lists are empty.
  var isReload = false
  var sections: [(id: SectionID, items: [ItemID])]
  /// Items that keep their cells, with other content.
  var reconfigured: [ItemID] = []
  /// Items that get other cells.
  var reloaded: [ItemID] = []
  var reloadedSections: [SectionID] = []
  /// Sections whose headers have other content.
  var headers: [SectionID] = []

  /// Nil if there is nothing to do.
  ///
  /// - Parameter shown: What is on the screen; nil if nothing is.
  init?(_ update: FeedUpdate, over shown: FeedView?) {
    sections = update.view.sections.map { ($0.id, $0.items.map(\.id)) }
    guard let shown, shown.exists else {
      isReload = true
      return
    }
    var change: FeedChange?
    switch update.kind {
    case .state, .absent:
      isReload = true
      return
    case .standing:
      // How many items there are outside of the window.
      headers = changedHeaders(update.view, shown)
      if headers.isEmpty { return nil }
    case .pending: break
    case .changed(let changed): change = changed
    }
    // Elements that did not change are the same objects, so this finds what changed, whatever the update says. A producer may also
    // ask for entries without a change.
    var forced = Set(change?.items.reloads.map(\.id) ?? [])
    forced.formIntersection(shown.sections.lazy.flatMap(\.items).map(\.id))
    let alsoReconfigured = Set(change?.items.reconfigures.map(\.id) ?? [])
    for item in update.view.sections.lazy.flatMap(\.items) {
      guard let former = shown.item(item.id) else { continue }
      if !former.kind.utf8.elementsEqual(item.kind.utf8) || forced.contains(item.id) {
        reloaded.append(item.id)
      } else if former !== item || alsoReconfigured.contains(item.id) {
        reconfigured.append(item.id)
      }
    }
    reloadedSections = (change?.sections.reloads.map(\.id) ?? []).filter { shown.section($0) != nil }
    headers = changedHeaders(update.view, shown)
  }

  private func changedHeaders(_ view: FeedView, _ shown: FeedView) -> [SectionID] {
    view.sections.filter { section in
      guard let former = shown.section(section.id), former !== section else { return false }
      return !former.dataText.utf8.elementsEqual(section.dataText.utf8) || former.of != section.of
        || former.isPending != section.isPending
    }.map(\.id)
  }
}
