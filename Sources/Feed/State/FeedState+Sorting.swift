/// Ordered and bounded sections: protocol, section 2.13.
extension FeedState {
  /// The order of a section's items; nil if their places are given.
  @inline(__always)
  func order(_ scope: Scope) -> SectionOrder? {
    totals.settingsCount == 0 ? nil : list(scope).pointee.settings?.order
  }

  // MARK: Settings

  /// Sets the order, the limit and the time to live, if the fields have them.
  func setSettings(_ section: ElementHandle, _ fields: ElementFields) {
    let old = list(.items(of: section)).pointee.settings
    let order = fields.order ?? old?.orderText ?? .empty
    let keep = fields.keep.or(old?.keep ?? .none)
    let ttl = fields.lifetime.or(old?.ttl ?? .none)
    let isNone = order.isEmpty && keep == .none && ttl == .none
    let new = isNone ? nil : SectionSettings(order: order, keep: keep, ttl: ttl)
    if SectionSettings.areEqual(old, new) { return }
    sections.touch(section)
    journal?.append(.settings(section: section, old))
    replaceSettings(section, new)
  }

  /// Replaces the settings and updates the totals.
  func replaceSettings(_ section: ElementHandle, _ new: SectionSettings?) {
    let list = list(.items(of: section))
    let isPresent = sections[section].isPresent
    if isPresent { addSize(section, .sections, sign: -1) }
    list.pointee.settings = new
    list.pointee.isSorted = false
    if isPresent { addSize(section, .sections, sign: 1) }
    if let keep = new?.keep.number, list.pointee.tree.currentCount > keep {
      overfull.append(.items(of: section))
    }
  }

  /// Publishes the settings of a touched section, or restores the published ones.
  func settleSettings(_ section: ElementHandle, confirming: Bool) {
    let list = list(.items(of: section))
    if confirming {
      list.pointee.publishedSettings = list.pointee.settings
    } else if list.pointee.settings !== list.pointee.publishedSettings {
      list.pointee.settings = list.pointee.publishedSettings
      list.pointee.isSorted = false
    }
  }

  // MARK: Order

  /// Sorts the items of an ordered section, unless they are sorted: after a new order, or a restoration.
  func sort(_ scope: Scope) {
    guard order(scope) != nil, !list(scope).pointee.isSorted else { return }
    let handles = currentHandles(scope)
    let sorted = inOrder(handles, scope)
    if sorted != handles { setOrder(scope, sorted) }
  }

  /// Future items of a section, in its order. O(n log n), without comparisons of equal lists.
  func inOrder(_ handles: [ElementHandle], _ scope: Scope) -> [ElementHandle] {
    guard let order = self.order(scope) else { return handles }
    if !list(scope).pointee.isSorted { journal?.append(.sorted(scope)) }
    list(scope).pointee.isSorted = true
    list(scope).pointee.landmarks = nil
    for handle in handles { sortKeys[handle] = SortKey(items[handle].data, order) }
    // The beginning of the first key decides most comparisons; here it is next to the handle.
    var entries = handles.map { (prefix: sortKeys[$0].prefix, handle: $0) }
    entries.sort { one, other in
      one.prefix == other.prefix ? precedes(one.handle, other.handle, order) : one.prefix < other.prefix
    }
    return entries.map(\.handle)
  }

  /// Whether an item precedes another in an order for which both have keys.
  func precedes(_ one: ElementHandle, _ other: ElementHandle, _ order: SectionOrder) -> Bool {
    let result = SortKey.compare(sortKeys[one], items[one].data, sortKeys[other], items[other].data, order)
    return result == 0 ? items.id(one).precedes(items.id(other)) : result < 0
  }

  /// The position in an ordered section for an item that is not in it. O(log n).
  func placeInOrder(_ item: ElementHandle, _ scope: Scope, _ order: SectionOrder) -> OrderTree.Position {
    sortKeys[item] = SortKey(items[item].data, order)
    return place(of: item, scope, order)
  }

  /// The position for an item with a key that is not in its section.
  private func place(of item: ElementHandle, _ scope: Scope, _ order: SectionOrder) -> OrderTree.Position {
    let list = list(scope)
    guard let first = list.pointee.tree.firstLeaf, list.pointee.tree.currentCount > 0 else {
      // When no items are left, their memory is released: landmarks may refer to it.
      list.pointee.landmarks = nil
      return list.pointee.tree.place(atCurrent: .first)
    }
    let landmarks: Landmarks
    if let known = list.pointee.landmarks, !known.areWorn {
      landmarks = known
    } else {
      landmarks = Landmarks()
      list.pointee.tree.forEachLeaf { landmarks.append($0, sortKeys[$0].prefix) }
      list.pointee.landmarks = landmarks
    }
    let prefix = sortKeys[item].prefix
    let count = landmarks.count(below: prefix)
    var number = count
    var start: OrderNode?
    // A landmark that has left its position is removed.
    while number > 0, start == nil {
      let landmark = landmarks.items[number - 1]
      let isThere =
        items[landmark.handle].container == scope && sortKeys[landmark.handle].prefix == landmark.prefix
      if isThere { start = items[landmark.handle].leaf } else { number -= 1 }
    }
    let (position, passedLeaves) = list.pointee.tree.place(
      from: start ?? first,
      where: { precedes($0, item, order) },
      prefetch: { sortKeys.prefetch($0) }
    )
    if passedLeaves > Landmarks.mostPassedLeaves { landmarks.insert(item, prefix, at: count) }
    landmarks.wear(by: count - number + passedLeaves)
    return position
  }

  /// Sets an item's fields, and its position if it stays in an ordered section.
  func change(_ item: ElementHandle, _ fields: ElementFields, staysInSection: Bool) {
    guard staysInSection, let order = order(items[item].scope) else {
      setContent(item: item, fields)
      return
    }
    sort(items[item].scope)
    let scope = items[item].scope
    let neighbours = list(scope).pointee.tree.currentNeighbours(around: currentPosition(item, scope))
    neighbours.previous.map(prefetch)
    neighbours.next.map(prefetch)
    let before = items[item].content.bytes
    setContent(item: item, fields)
    if items[item].content.bytes == before { return }
    sortKeys[item] = SortKey(items[item].data, order)
    if neighbours.previous.map({ precedes($0, item, order) }) ?? true,
      neighbours.next.map({ precedes(item, $0, order) }) ?? true
    {
      return
    }
    detach(item, scope)
    attach(item, scope, at: place(of: item, scope, order))
  }

  /// Loads the sort key of a changed item's neighbour, and its identifier, which the checksum needs.
  @inline(__always)
  private func prefetch(_ neighbour: ElementHandle) {
    sortKeys.prefetch(neighbour)
    items.prefetch(neighbour)
  }

  /// Loads the position of an item that is about to change, if its section is ordered.
  @inline(__always)
  func prefetchPlace(of item: ElementHandle) {
    if order(items[item].scope) != nil { items[item].leaf?.prefetch() }
  }

  /// Computes an item's key again after a record was undone.
  func refreshSortKey(_ item: ElementHandle) {
    guard let scope = items[item].container.value, list(scope).pointee.isSorted, let order = self.order(scope)
    else { return }
    sortKeys[item] = SortKey(items[item].data, order)
  }

  // MARK: Bounds

  /// Deletes the items of sections beyond their limit.
  ///
  /// - Returns: the number of items.
  func cut() -> Int {
    if overfull.isEmpty { return 0 }
    var cut = 0
    for scope in overfull {
      guard let keep = list(scope).pointee.settings?.keep.number.map({ Int($0) }) else { continue }
      let surplus = Int(list(scope).pointee.tree.currentCount) - keep
      guard surplus > 0 else { continue }
      cut += surplus
      if surplus > keep {
        setOrder(scope, Array(currentHandles(scope).prefix(keep)))
        continue
      }
      for _ in 0..<surplus {
        guard let last = element(at: Rank(list(scope).pointee.tree.currentCount - 1), scope) else { break }
        detach(last, scope)
        forgetForced(last, items)
      }
    }
    overfull.removeAll()
    return cut
  }

  // MARK: Checking

  /// The fault of the order of ordered sections, or of the number of items of limited ones; nil if none.
  ///
  /// - Parameter entries: the entries of a difference, to check only touched elements; nil after a reload.
  package func orderFault(after entries: DecodedEntries?) -> String? {
    guard let entries else {
      return currentHandles(.sections).lazy.compactMap(orderFault(ofSection:)).first
    }
    for entry in entries.sections[.insert] + entries.sections[.reconfigure] + entries.sections[.reload] {
      if let fault = sections.findPresent(entry.id).flatMap(orderFault(ofSection:)) { return fault }
    }
    let lists = entries.items
    for entry in lists[.insert] + lists[.move] + lists[.reconfigure] + lists[.reload] {
      guard let item = items.findPresent(entry.id), let settings = list(items[item].scope).pointee.settings
      else { continue }
      let scope = items[item].scope
      let neighbours = list(scope).pointee.tree.currentNeighbours(around: currentPosition(item, scope))
      let stretch = [neighbours.previous, item, neighbours.next].compactMap { $0 }
      if let fault = boundFault(scope, settings) ?? orderFault(stretch, settings) { return fault }
    }
    return nil
  }

  private func orderFault(ofSection section: ElementHandle) -> String? {
    let scope = Scope.items(of: section)
    return list(scope).pointee.settings.flatMap { settings in
      boundFault(scope, settings) ?? orderFault(currentHandles(scope), settings)
    }
  }

  private func boundFault(_ scope: Scope, _ settings: SectionSettings) -> String? {
    let count = Int(list(scope).pointee.tree.currentCount)
    guard let keep = settings.keep.number, count > keep else { return nil }
    return "section \(sections.id(scope.section).quotedForMessage()) has \(count) items and keeps \(keep)"
  }

  private func orderFault(_ handles: [ElementHandle], _ settings: SectionSettings) -> String? {
    guard let order = settings.order else { return nil }
    for handle in handles { sortKeys[handle] = SortKey(items[handle].data, order) }
    guard let (one, other) = zip(handles, handles.dropFirst()).first(where: { !precedes($0, $1, order) })
    else {
      return nil
    }
    return "item \(items.id(one).quotedForMessage()) precedes \(items.id(other).quotedForMessage()), "
      + "expected after it by the section's order"
  }
}
