extension FeedState {
  /// Appends a part of a reload to a state that was empty before its first part; a section listed again with its id alone is
  /// continued. The caller confirms after the last part.
  ///
  /// - Throws: what is wrong with the part. The state is of no use then.
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
      throw ReplicaFault(.invalidChangeset, "a section's id must have 1 to 255 bytes")
    }
    if let section = sections.findPresent(id) {
      guard fields.isEmpty, element(at: Rank(sectionCount - 1), .sections) == section else {
        throw ReplicaFault(.unknownElement, "the reload lists section \(id.quotedForMessage()) twice")
      }
      return section
    }
    guard fields.isWhole(isItem: false) else {
      throw ReplicaFault(.invalidChangeset, "section \(id.quotedForMessage()) lacks its data")
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

  /// An item that is in no list yet, and does not count as changed.
  private func makeItem(
    _ record: DecodedChangeset,
    _ element: DecodedChangeset.Field
  ) throws(ReplicaFault) -> ElementHandle {
    let listed = try ReloadedElement(element, of: record, isItem: true)
    let (id, fields) = (listed.id, listed.fields)
    guard (1...255).contains(id.count), fields.isWhole(isItem: true), fields.isWithinLimits else {
      throw ReplicaFault(
        .invalidChangeset,
        "an item must have data, an id of 1 to 255 bytes, and a kind of at most 255"
      )
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
