extension FeedState {
  /// The data of an element without data.
  static let null = ByteSpan("null" as StaticString)

  /// Applies a section or item event.
  ///
  /// - Parameters:
  ///   - decoder: holds the event's lists.
  /// - Returns: the reason why the event had no effect, or nil.
  /// - Throws: `unknown-anchor`, `unknown-section` or `limit-exceeded`, before the event changes anything.
  func apply(_ event: UnsafePointer<Event>, _ decoder: RecordDecoder) throws(Rejection) -> NoOpReason? {
    switch event.pointee.operation {
    case .feedReplace: try replaceAll(decoder.sections[event.pointee.sections], decoder)
    case .feedClear, .feedDelete: removeAll()
    case .feedReload: break
    case .sectionUpsert: sort(.items(of: try putSection(event.pointee)))
    case .sectionReplace:
      let section = try putSection(event.pointee)
      setItems(of: section, try resolveItems(of: section, event.pointee.items, decoder))
    case .sectionMove:
      guard sections.findPresent(event.pointee.section) != nil else { return .unknownSection }
      _ = try putSection(event.pointee)
    case .sectionDelete:
      guard let section = sections.findPresent(event.pointee.section) else { return .unknownSection }
      setOrder(.items(of: section), [])
      detach(section, .sections)
      forgetForced(section, sections)
    case .sectionReload:
      guard let section = sections.findPresent(event.pointee.section) else { return .unknownSection }
      force(section, sections, .reload)
    case .itemUpsert:
      renew(try putItem(event, items.findPresent(event.pointee.item), decoder), event, decoder)
    case .itemMove:
      guard let item = items.findPresent(event.pointee.item) else { return .unknownItem }
      renew(try putItem(event, item, decoder), event, decoder)
    case .itemPatch:
      guard let item = items.findPresent(event.pointee.item) else { return .unknownItem }
      try patch(item, event.pointee, decoder)
      renew(item, event, decoder)
    case .itemDelete:
      guard let item = items.findPresent(event.pointee.item) else { return .unknownItem }
      delete(item)
    case .itemReconfigure:
      guard let item = items.findPresent(event.pointee.item) else { return .unknownItem }
      force(item, items, .reconfigure)
    case .itemReload:
      guard let item = items.findPresent(event.pointee.item) else { return .unknownItem }
      force(item, items, .reload)
    }
    return nil
  }

  // MARK: Places

  /// The rank that a place means, in the list without the element itself.
  private func rank(
    _ place: Place,
    in scope: Scope,
    without element: ElementHandle?
  ) throws(Rejection) -> Rank {
    let count = list(scope).pointee.tree.currentCount - (element == nil ? 0 : 1)
    switch place {
    case .first: return .first
    case .last: return Rank(count)
    case .index(let index): return Rank(min(index, Int(count)))
    case .before(let anchor): return try anchorRank(anchor, "at.before", in: scope, without: element)
    case .after(let anchor): return try anchorRank(anchor, "at.after", in: scope, without: element) + 1
    }
  }

  private func anchorRank(
    _ anchor: ByteSpan,
    _ field: String,
    in scope: Scope,
    without element: ElementHandle?
  ) throws(Rejection) -> Rank {
    guard let handle = table(scope).findPresent(anchor), table(scope)[handle].container == scope,
      handle != element
    else { throw FeedState.unknownAnchor(anchor, field) }
    let anchorRank = currentRank(handle, scope)
    guard let element else { return anchorRank }
    return currentRank(element, scope) < anchorRank ? anchorRank - 1 : anchorRank
  }

  private static func unknownAnchor(_ anchor: ByteSpan, _ field: String) -> Rejection {
    let found = anchor.quotedForMessage()
    return Rejection(.unknownAnchor, field: field, "names nothing else in that list", found: found)
  }

  /// Moves an element within its list, unless it is there already.
  private func move(_ handle: ElementHandle, _ scope: Scope, to rank: Rank) {
    if currentRank(handle, scope) == rank { return }
    detach(handle, scope)
    attach(handle, scope, at: rank)
  }

  // MARK: Sections

  /// Creates, changes or moves the section of an event.
  private func putSection(_ event: Event) throws(Rejection) -> ElementHandle {
    let scope = Scope.sections
    if let section = sections.findPresent(event.section) {
      if let place = event.place {
        move(section, scope, to: try rank(place, in: scope, without: section))
      }
      if !event.fields.isEmpty { setContent(section: section, event.fields) }
      return section
    }
    let target = try rank(event.place ?? .last, in: scope, without: nil)
    return createSection(event.section, event.fields, at: target)
  }

  private func createSection(_ id: ByteSpan, _ fields: ElementFields, at rank: Rank) -> ElementHandle {
    let hash = ByteHash.of(id)
    let section = sections.find(id, hash) ?? makeSection(id, hash)
    setContent(section: section, fields.filled(from: .ofNewSection))
    attach(section, .sections, at: rank)
    return section
  }

  // MARK: Items

  /// Creates, changes or moves the item of an event; `item` is its handle if it exists.
  ///
  /// - Returns: the item.
  private func putItem(
    _ event: UnsafePointer<Event>,
    _ item: ElementHandle?,
    _ decoder: RecordDecoder
  ) throws(Rejection) -> ElementHandle {
    let scope: Scope?
    if event.pointee.section.isEmpty {
      guard let item else { throw FeedState.missingSection(ofNew: event.pointee.item) }
      scope = items[item].scope
    } else if let item, sections.id(items[item].scope.section).hasSameBytes(as: event.pointee.section) {
      // The usual case, without a lookup in the index.
      scope = items[item].scope
    } else {
      scope = sections.findPresent(event.pointee.section).map { .items(of: $0) }
    }
    let isInPlace = item != nil && scope == items[item!].scope
    if let scope, let order = order(scope) {
      return try putItem(event, item, staysInSection: isInPlace, in: scope, order, decoder)
    }
    var target: Rank?
    if let scope {
      if let place = event.pointee.place {
        target = try rank(place, in: scope, without: isInPlace ? item : nil)
      } else if !isInPlace {
        target = Rank(list(scope).pointee.tree.currentCount)
      }
    } else {
      switch event.pointee.place {
      case .before(let anchor): throw FeedState.unknownAnchor(anchor, "at.before")
      case .after(let anchor): throw FeedState.unknownAnchor(anchor, "at.after")
      default: target = .first
      }
    }
    if refers(decoder) { try checkReferences(event.pointee.fields, of: item, decoder.limits) }

    let isNew = item == nil
    let handle: ElementHandle
    if let item {
      handle = item
      if event.pointee.operation == .itemUpsert, !event.pointee.fields.isEmpty {
        setContent(item: item, event.pointee.fields)
      }
    } else {
      handle = makeItem(event)
    }
    guard let target else { return handle }
    if isInPlace, let scope {
      move(handle, scope, to: target)
      return handle
    }
    let container =
      scope ?? .items(of: createSection(event.pointee.section, ElementFields(), at: Rank(sectionCount)))
    if !isNew { detach(handle, items[handle].scope) }
    attach(handle, container, at: target)
    return handle
  }

  private func makeItem(_ event: UnsafePointer<Event>) -> ElementHandle {
    let hash = ByteHash.of(event.pointee.item)
    let handle = items.find(event.pointee.item, hash) ?? items.create(event.pointee.item, hash)
    setContent(item: handle, event.pointee.fields.filled(from: .ofNewItem))
    return handle
  }

  /// Creates, changes or moves an item into an ordered section.
  @inline(never)
  private func putItem(
    _ event: UnsafePointer<Event>,
    _ item: ElementHandle?,
    staysInSection: Bool,
    in scope: Scope,
    _ order: SectionOrder,
    _ decoder: RecordDecoder
  ) throws(Rejection) -> ElementHandle {
    if event.pointee.place != nil { throw FeedState.placeInOrder(of: sections.id(scope.section)) }
    if refers(decoder) { try checkReferences(event.pointee.fields, of: item, decoder.limits) }
    sort(scope)
    if let item {
      if event.pointee.operation == .itemUpsert, !event.pointee.fields.isEmpty {
        change(item, event.pointee.fields, staysInSection: staysInSection)
      }
      if staysInSection { return item }
      detach(item, items[item].scope)
    }
    let handle = item ?? makeItem(event)
    attach(handle, scope, at: placeInOrder(handle, scope, order))
    return handle
  }

  private static func placeInOrder(of section: ByteSpan) -> Rejection {
    Rejection(
      .orderedSection,
      field: "at",
      "gives a place in the section \(section.quotedForMessage()), which is ordered: leave 'at' out, "
        + "or remove the section's order"
    )
  }

  private static func missingSection(ofNew item: ByteSpan) -> Rejection {
    Rejection(
      .unknownSection,
      field: "section",
      "is missing; a new item requires its section, and there is no item \(item.quotedForMessage()) yet"
    )
  }

  private func patch(_ item: ElementHandle, _ event: Event, _ decoder: RecordDecoder) throws(Rejection) {
    prefetchPlace(of: item)
    let content = items[item].content
    var fields = ElementFields(lifetime: event.fields.lifetime)
    if event.fields.data != nil {
      let data = content.hasReferences ? ownData(content, decoder.arena) : content.data
      fields.data = try FeedState.patched(data, by: event, decoder)
    }
    if let patch = event.fields.refs, !patch.isEmpty {
      fields.refs = try decoder.patchedReferences(content.references?.text ?? .empty, by: patch)
    }
    if refers(decoder) { try checkReferences(fields, of: item, decoder.limits) }
    change(item, fields, staysInSection: true)
  }

  /// Data after a patch, valid until the next patch.
  private static func patched(
    _ data: ByteSpan,
    by event: Event,
    _ decoder: RecordDecoder
  ) throws(Rejection) -> ByteSpan {
    let output = decoder.patchOutput
    output.removeAll()
    decoder.mergePatch.apply(event.fields.data ?? null, to: data, into: output)
    guard output.count <= decoder.limits.maxDataBytes else {
      throw Rejection(
        .limitExceeded,
        field: "data",
        "leaves the item with \(output.count) bytes of data, more than limits.maxDataBytes "
          + "(\(decoder.limits.maxDataBytes))",
        found: event.fields.data?.valueForMessage()
      )
    }
    return output.written
  }

  // MARK: Whole lists

  /// Sets a section's items, in the given order or in its own.
  private func setItems(of section: ElementHandle, _ handles: [ElementHandle]) {
    let scope = Scope.items(of: section)
    setOrder(scope, inOrder(handles, scope))
  }

  /// The handles of listed items, with new contents: removed from other sections, or created.
  private func resolveItems(
    of section: ElementHandle,
    _ listed: Range<Int>,
    _ decoder: RecordDecoder
  ) throws(Rejection) -> [ElementHandle] {
    let refers = refers(decoder)
    let scope = Scope.items(of: section)
    let allItems = decoder.items
    var handles: [ElementHandle] = []
    handles.reserveCapacity(listed.count)
    // A new list mostly has the old order, so the old list's next item is tried before the table.
    var expected = CurrentCursor(list(scope).pointee.tree)
    for position in listed {
      let listedItem = allItems[position]
      let found: ElementHandle?
      if let next = expected.peek(), items[next].hash == listedItem.hash,
        items.id(next).hasSameBytes(as: listedItem.id)
      {
        found = next
        expected.advance()
      } else {
        found = items.find(listedItem.id, listedItem.hash)
        if let found, items[found].container == scope {
          expected = CurrentCursor(list(scope).pointee.tree, after: currentPosition(found, scope))
        }
      }
      let handle = found ?? items.create(listedItem.id, listedItem.hash)
      if refers {
        try setListed(position, handle, decoder)
      } else if !items[handle].isPresent {
        setContent(handle, items, listedItem.fields.filled(from: .ofNewItem))
      } else if !listedItem.fields.isEmpty {
        setContent(handle, items, listedItem.fields)
      }
      if items[handle].isPresent, items[handle].scope != scope { detach(handle, items[handle].scope) }
      handles.append(handle)
    }
    if decoder.hasEnds || list(scope).pointee.settings != nil {
      for (number, item) in zip(listed, handles) {
        renew(item, allItems[number].expires, in: scope, decoder)
      }
    }
    return handles
  }

  /// Sets the feed's sections and items to the listed ones.
  func replaceAll(
    _ listedSections: ArraySlice<ListedSection>,
    _ decoder: RecordDecoder
  ) throws(Rejection) {
    var handles: [ElementHandle] = []
    var itemHandles: [[ElementHandle]] = []
    for listed in listedSections {
      let section = sections.find(listed.id, listed.hash) ?? makeSection(listed.id, listed.hash)
      if !sections[section].isPresent {
        setContent(section: section, listed.fields.filled(from: .ofNewSection))
      } else if !listed.fields.isEmpty {
        setContent(section: section, listed.fields)
      }
      handles.append(section)
      itemHandles.append(try resolveItems(of: section, listed.items, decoder))
    }
    for handle in handles { sections[handle].scratch = 1 }
    for section in currentHandles(.sections) where sections[section].scratch == 0 {
      setOrder(.items(of: section), [])
    }
    for handle in handles { sections[handle].scratch = 0 }
    setOrder(.sections, handles)
    for (section, items) in zip(handles, itemHandles) { setItems(of: section, items) }
  }

  /// Removes all sections and items.
  func removeAll() {
    for section in currentHandles(.sections) { setOrder(.items(of: section), []) }
    setOrder(.sections, [])
  }

  /// The current handles of a list, in order. O(k) for k elements, O(k log n) if few among n ghosts.
  func currentHandles(_ scope: Scope) -> [ElementHandle] {
    let tree = list(scope).pointee.tree
    let count = Int(tree.currentCount)
    return [ElementHandle](unsafeUninitializedCapacity: count) { handles, initialized in
      if count * 8 < tree.entryCount {
        var cursor = CurrentCursor(tree)
        while let handle = cursor.next() {
          handles[initialized] = handle
          initialized += 1
        }
        return
      }
      tree.forEachEntry { entry in
        guard entry.isCurrent else { return }
        precondition(initialized < count, "the tree's counts are wrong")
        handles[initialized] = entry.handle
        initialized += 1
      }
    }
  }
}
