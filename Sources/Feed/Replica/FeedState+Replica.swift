extension FeedState {
  /// Applies a difference, and checks all its positions. The caller confirms, or rolls back after an error.
  ///
  /// Base positions refer to the published order, which stays constant meanwhile. Entries determine the
  /// places, so the keys of an ordered section's items are computed again before its next edit.
  ///
  /// - Parameter forcing: whether an entry without effect counts as a change, because an event requested it.
  func apply(_ entries: DecodedEntries, forcing: Bool = false) throws(ReplicaFault) {
    for entry in entries.items[.delete] { try remove(entry, from: items, isMove: false) }
    for entry in entries.items[.move] { try remove(entry, from: items, isMove: true) }
    for entry in entries.sections[.delete] {
      let section = try remove(entry, from: sections, isMove: false)
      // The section's remaining items are deleted with it, without entries.
      setOrder(.items(of: section), [])
    }
    for entry in entries.sections[.move] { try remove(entry, from: sections, isMove: true) }
    for entry in try FeedState.byResult(entries.sections) { try place(section: entry) }
    for entry in try FeedState.byResult(entries.items) { try place(item: entry) }
    let sectionReconfigures = entries.sections[.reconfigure]
    for (number, entry) in (sectionReconfigures + entries.sections[.reload]).enumerated() {
      let section = try present(entry, sections, .sections)
      if !entry.fields.isEmpty { setContent(section: section, entry.fields) }
      if forcing { force(section, sections, number < sectionReconfigures.count ? .reconfigure : .reload) }
    }
    // A reconfigured item keeps its kind.
    let reconfigures = entries.items[.reconfigure]
    for (number, entry) in (reconfigures + entries.items[.reload]).enumerated() {
      guard let section = sections.findPresent(entry.toSection) else {
        throw FeedState.unknownSection(entry)
      }
      let item = try present(entry, items, .items(of: section))
      let isReconfigure = number < reconfigures.count
      setContent(item: item, isReconfigure ? entry.fields.withoutKind : entry.fields)
      if forcing { force(item, items, isReconfigure ? .reconfigure : .reload) }
      list(.items(of: section)).pointee.isSorted = false
    }
  }

  /// Inserted and moved elements, each list's in the order of their result positions, which must be distinct.
  private static func byResult(
    _ lists: DecodedEntries.Lists
  ) throws(ReplicaFault) -> [DecodedEntries.Entry] {
    let placed = (lists[.insert] + lists[.move]).sorted {
      $0.to == $1.to ? $0.toSection.precedes($1.toSection) : $0.to < $1.to
    }
    for (entry, next) in zip(placed, placed.dropFirst())
    where entry.to == next.to && entry.toSection.hasSameBytes(as: next.toSection) {
      throw ReplicaFault(
        .position,
        "the changeset says position \(entry.to) of \(entry.id.quotedForMessage()) and of "
          + next.id.quotedForMessage()
      )
    }
    return placed
  }

  /// Removes an element from its list, if its base position is right.
  @discardableResult
  private func remove(
    _ entry: DecodedEntries.Entry,
    from table: ElementTable,
    isMove: Bool
  ) throws(ReplicaFault) -> ElementHandle {
    guard let handle = table.findPresent(entry.id) else { throw FeedState.unknown(entry, "deletes or moves") }
    let scope = table[handle].scope
    if !scope.isSections {
      // The section may have been removed already, but its identifier is known.
      guard sections.id(scope.section).hasSameBytes(as: entry.fromSection) else {
        throw ReplicaFault(
          .position,
          "the changeset says section \(entry.fromSection.quotedForMessage()) of item "
            + "\(entry.id.quotedForMessage()), expected \(sections.id(scope.section).quotedForMessage())"
        )
      }
    }
    let rank = list(scope).pointee.tree.ranks(currentPosition(handle, scope)).published
    guard rank.number == entry.from else {
      throw FeedState.misplaced(entry.id, at: entry.from, expected: "\(rank)")
    }
    detach(handle, scope)
    return handle
  }

  private func place(section entry: DecodedEntries.Entry) throws(ReplicaFault) {
    let handle = try placeable(entry, sections) { makeSection($0, $1) }
    guard (0...Int32(sectionCount)).contains(entry.to) else {
      throw FeedState.misplaced(entry.id, at: entry.to, expected: "0 to \(sectionCount)")
    }
    if !entry.fields.withoutKind.isEmpty { setContent(section: handle, entry.fields) }
    attach(handle, .sections, at: Rank(entry.to))
  }

  private func place(item entry: DecodedEntries.Entry) throws(ReplicaFault) {
    guard let section = sections.findPresent(entry.toSection) else { throw FeedState.unknownSection(entry) }
    let scope = Scope.items(of: section)
    let handle = try placeable(entry, items) { items.create($0, $1) }
    let count = list(scope).pointee.tree.currentCount
    guard (0...count).contains(entry.to) else {
      throw FeedState.misplaced(entry.id, at: entry.to, expected: "0 to \(count)")
    }
    if !entry.fields.isEmpty { setContent(item: handle, entry.fields) }
    attach(handle, scope, at: Rank(entry.to))
    list(scope).pointee.isSorted = false
  }

  /// The handle of an inserted element, or of a moved one, which is in no list now.
  private func placeable(
    _ entry: DecodedEntries.Entry,
    _ table: ElementTable,
    make: (ByteSpan, UInt32) -> ElementHandle
  ) throws(ReplicaFault) -> ElementHandle {
    let hash = ByteHash.of(entry.id)
    guard let known = table.find(entry.id, hash) else { return make(entry.id, hash) }
    guard !table[known].isPresent else {
      throw ReplicaFault(
        .unknownElement,
        "the changeset inserts \(entry.id.quotedForMessage()), which already exists"
      )
    }
    return known
  }

  /// The handle of an element whose content changes, if its position is right.
  private func present(
    _ entry: DecodedEntries.Entry,
    _ table: ElementTable,
    _ scope: Scope
  ) throws(ReplicaFault) -> ElementHandle {
    guard let handle = table.findPresent(entry.id), table[handle].container == scope else {
      throw FeedState.unknown(entry, "reconfigures or reloads")
    }
    let rank = currentRank(handle, scope)
    guard rank.number == entry.to else {
      throw FeedState.misplaced(entry.id, at: entry.to, expected: "\(rank)")
    }
    return handle
  }

  private static func unknown(_ entry: DecodedEntries.Entry, _ verb: String) -> ReplicaFault {
    ReplicaFault(.unknownElement, "the changeset \(verb) \(entry.id.quotedForMessage()), which is not there")
  }

  private static func unknownSection(_ entry: DecodedEntries.Entry) -> ReplicaFault {
    ReplicaFault(
      .unknownElement,
      "the changeset names section \(entry.toSection.quotedForMessage()) for item "
        + "\(entry.id.quotedForMessage()), which is not there"
    )
  }

  /// - Parameters:
  ///   - position: the changeset's position.
  ///   - expected: the feed's position, or its range.
  private static func misplaced(_ id: ByteSpan, at position: Int32, expected: String) -> ReplicaFault {
    ReplicaFault(
      .position,
      "the changeset says position \(position) of \(id.quotedForMessage()), expected \(expected)"
    )
  }
}

extension FeedState {
  /// Appends a part of a reload to a state that was empty before its first part; a section that is listed
  /// again with only its id is continued. The caller confirms after the last part.
  ///
  /// - Throws: the fault of the part. The state is then invalid.
  package func append(reload record: DecodedChangeset) throws(ReplicaFault) {
    guard record.sections.first != 0 else { return }
    try record.forEachElement(record.sections) { section throws(ReplicaFault) in
      let listed = try ReloadedElement(section, of: record, isItem: false)
      let scope = Scope.items(of: try reloadedSection(listed.id, listed.fields))
      if listed.items.first != 0 { try append(record, listed.items, to: scope) }
    }
  }

  private func reloadedSection(_ id: ByteSpan, _ fields: ElementFields) throws(ReplicaFault) -> ElementHandle
  {
    guard (1...255).contains(id.count) else {
      throw ReplicaFault("a section's id must have 1 to 255 bytes")
    }
    if let section = sections.findPresent(id) {
      guard fields.data == nil, element(at: Rank(sectionCount - 1), .sections) == section else {
        throw ReplicaFault(.unknownElement, "the reload lists section \(id.quotedForMessage()) twice")
      }
      return section
    }
    guard fields.isWhole(isItem: false) else {
      throw ReplicaFault("section \(id.quotedForMessage()) lacks its data")
    }
    let section = makeSection(id, ByteHash.of(id))
    setContent(section: section, fields)
    attach(section, .sections, at: Rank(sectionCount))
    return section
  }

  /// Adds items at the end of a list, as published ones.
  private func append(
    _ record: DecodedChangeset,
    _ listed: DecodedChangeset.Field,
    to scope: Scope
  ) throws(ReplicaFault) {
    let count = list(scope).pointee.tree.currentCount
    var previous = count > 0 ? element(at: Rank(count - 1), scope) : nil
    var handles: [ElementHandle] = []
    var checksum: UInt32 = 0
    try record.forEachElement(listed) { element throws(ReplicaFault) in
      let item = try makeItem(record, element)
      checksum &+= checksumTerm(item, after: previous, scope)
      addSize(item, scope, sign: 1)
      handles.append(item)
      previous = item
    }
    guard !handles.isEmpty else { return }
    appendSettled(handles, scope, checksum: checksum)
    totals.checksum &+= checksum
    if count == 0 { totals.filledSectionCount += 1 }
  }

  /// Creates an item in no list, which does not count as changed.
  private func makeItem(
    _ record: DecodedChangeset,
    _ element: DecodedChangeset.Field
  ) throws(ReplicaFault) -> ElementHandle {
    let listed = try ReloadedElement(element, of: record, isItem: true)
    let (id, fields) = (listed.id, listed.fields)
    guard (1...255).contains(id.count), fields.isWhole(isItem: true), fields.isWithinLimits else {
      throw ReplicaFault("an item must have data, an id of 1 to 255 bytes, and a kind of at most 255")
    }
    let hash = ByteHash.of(id)
    guard items.find(id, hash) == nil else {
      throw ReplicaFault(.unknownElement, "the reload lists item \(id.quotedForMessage()) twice")
    }
    let item = items.createSettled(id, hash)
    setFirstContent(item, items, fields)
    return item
  }
}
