/// The content of a window of a state, published or current.
extension FeedState {
  /// The shown sections, in order.
  func sections(in window: FeedWindow, published: Bool) -> [ElementHandle] {
    let tree = list(.sections).pointee.tree
    guard let ids = window.sections else {
      return tree.elements(0..<Int(tree.counts.number(published: published)), published: published)
    }
    var shown: [(handle: ElementHandle, rank: Rank)] = []
    for id in ids {
      guard let section = id.withBytes({ sections.find($0, ByteHash.of($0)) }) else { continue }
      if let rank = rank(section, .sections, published: published) { shown.append((section, rank)) }
    }
    return shown.sorted { $0.rank < $1.rank }.map(\.handle)
  }

  /// The number of elements before an element in its list; nil if it is not in that list in this version.
  func rank(_ handle: ElementHandle, _ scope: Scope, published: Bool) -> Rank? {
    let table = table(scope)
    guard published else { return table[handle].container == scope ? currentRank(handle, scope) : nil }
    let change = table[handle].change.isNone ? nil : table.withChange(handle) { $0 }
    guard (change?.publishedContainer ?? table[handle].container) == scope else { return nil }
    let tree = list(scope).pointee.tree
    let position =
      change?.ghostLeaf.map { tree.position(of: .ghost(handle), in: $0) } ?? currentPosition(handle, scope)
    return tree.ranks(position).published
  }

  /// The positions of a section's shown items.
  func range(of window: FeedWindow, in scope: Scope, published: Bool) -> Range<Int> {
    window.range(of: Int(list(scope).pointee.tree.counts.number(published: published)))
  }

  /// Whether a window shows all items of a section, in both versions.
  func isWhole(_ scope: Scope, in window: FeedWindow) -> Bool {
    let tree = list(scope).pointee.tree
    return window.from == 0 && window.end >= max(tree.publishedCount, tree.currentCount)
  }

  // MARK: Checksum

  /// The checksum of a window's current content. O(n) for the n shown elements, and O(1) for a whole feed.
  func checksum(of window: FeedWindow) -> UInt32 {
    if window.sections == nil, window.extent == .all { return totals.checksum }
    var sum: UInt32 = 0
    var previous: ElementHandle?
    for section in sections(in: window, published: false) {
      let scope = Scope.items(of: section)
      sum &+=
        checksumTerm(section, after: previous, .sections) &+ checksum(of: window, scope, published: false)
      previous = section
    }
    return sum
  }

  /// The sum of the terms of a section's shown items.
  func checksum(of window: FeedWindow, _ scope: Scope, published: Bool) -> UInt32 {
    let list = list(scope).pointee
    if isWhole(scope, in: window) { return published ? list.publishedChecksum : list.checksum }
    let range = range(of: window, in: scope, published: published)
    return checksum(of: list.tree.elements(range, published: published), scope, published: published)
  }

  func checksum(of handles: [ElementHandle], _ scope: Scope, published: Bool) -> UInt32 {
    var sum: UInt32 = 0
    var previous = ByteSpan.empty
    let section = sections.id(scope.section)
    for handle in handles {
      let id = items.id(handle)
      var kind = items[handle].content.kind
      if published, !items[handle].change.isNone {
        items.withChange(handle) { $0.publishedContent.map { kind = $0.kind } }
      }
      sum &+= Checksum.item(id, kind: kinds[kind], after: previous, in: section)
      previous = id
    }
    return sum
  }

  // MARK: Texts

  /// Appends the member `window`: each shown section's range of shown items, and its number of items.
  func writeTotals(of window: FeedWindow, to output: ByteWriter) {
    var output = output
    output.append("\"window\":[")
    for (number, section) in sections(in: window, published: false).enumerated() {
      let scope = Scope.items(of: section)
      let range = range(of: window, in: scope, published: false)
      output.append(number == 0 ? "{\"section\":" : ",{\"section\":")
      output.append(idOf: section, in: sections)
      output.append(",\"from\":")
      output.append(decimal: window.from)
      output.append(",\"shown\":")
      output.append(decimal: range.count)
      output.append(",\"of\":")
      output.append(decimal: Int(list(scope).pointee.tree.currentCount))
      output.append(UInt8(ascii: "}"))
    }
    output.append(UInt8(ascii: "]"))
  }

  /// Appends a window's content as one changeset of mode `reload`.
  ///
  /// - Parameter head: has the checksum of the window.
  func writeReload(of window: FeedWindow, head: ChangesetHead, to output: ByteWriter) {
    var output = output
    head.write(part: nil, to: output)
    output.append(ReloadText.comma)
    writeTotals(of: window, to: output)
    let shown = sections(in: window, published: false)
    for (number, section) in shown.enumerated() {
      output.append(number == 0 ? ReloadText.sectionsOpening : ReloadText.comma)
      appendSection(section, withData: true, to: &output)
      let scope = Scope.items(of: section)
      let range = range(of: window, in: scope, published: false)
      let items = list(scope).pointee.tree.elements(range, published: false)
      for (number, item) in items.enumerated() {
        output.append(number == 0 ? ReloadText.itemsOpening : ReloadText.comma)
        appendItem(item, to: &output)
      }
      if !items.isEmpty { output.append(ReloadText.listEnd) }
      output.append(ReloadText.objectEnd)
    }
    if !shown.isEmpty { output.append(ReloadText.listEnd) }
    output.append(ReloadText.objectEnd)
  }
}
