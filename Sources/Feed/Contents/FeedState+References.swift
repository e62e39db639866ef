import Glibc

/// Items with references (protocol, section 2.16). In a store, their data is composed of their own data and contents.
extension FeedState {
  // MARK: Content

  /// Sets the fields of an item that has references, or had some.
  ///
  /// - Parameter fields: their data is the item's own; in a replica, it includes the contents.
  @inline(never)
  func setReferring(_ handle: ElementHandle, _ fields: ElementFields) {
    let old = items[handle].content
    let oldText = old.references?.text ?? .empty
    let text = fields.refs ?? oldText
    let keepsReferences = text.hasSameBytes(as: oldText)
    let keepsKind = fields.kind.map { kinds[old.kind].hasSameBytes(as: $0) } ?? true
    // Used before their contents are read, so that no change of these is missed.
    let references =
      text.isEmpty ? nil : keepsReferences ? old.references : makeReferences(text, of: handle)
    let (data, ownCount) = composed(fields, over: old)
    let end = fields.lifetime.or(old.end)
    if keepsKind, keepsReferences, end == old.end, old.isSet, old.data.hasSameBytes(as: data) { return }
    items.touch(handle)
    var kind = old.kind
    if let new = fields.kind, !keepsKind { kind = kinds.use(new) } else { kinds.use(kind) }
    var new = Content(copying: data, fingerprint: DataFingerprint.of(data), kind: kind, blocks: blocks)
    new.append(end, keepsReferences ? references?.used() : references, ownCount: ownCount, blocks: blocks)
    let replaced = replaceContent(handle, items, with: new)
    noteRest(of: handle, instead: replaced)
    retireContent(handle, items, replaced)
  }

  /// The data of an item with these fields, and the length of its own data, or 0 in a replica. Valid until the next call.
  private func composed(_ fields: ElementFields, over old: Content) -> (data: ByteSpan, ownCount: Int) {
    guard let references else { return (fields.data ?? old.data, 0) }
    let output = references.writer
    output.removeAll()
    let own = fields.data.map { ByteSpan($0.base, $0.count - 1) } ?? old.ownStart
    let text = fields.refs ?? old.references?.text ?? .empty
    // Other data is rejected later, or comes from a foreign store.
    let isObject = own.count > 0 && own[0] == UInt8(ascii: "{")
    guard isObject, !text.isEmpty else {
      if let data = fields.data ?? (old.hasReferences ? nil : old.data) { return (data, data.count) }
      output.append(isObject ? own : ByteSpan("{"))
      output.append(UInt8(ascii: "}"))
      return (output.written, output.count)
    }
    output.append(own)
    var hasMembers = own.count > 1
    for member in References.Members(text) {
      if hasMembers { output.append(UInt8(ascii: ",")) }
      hasMembers = true
      output.append(member.name)
      output.append(UInt8(ascii: ":"))
      references.table.appendValue(member.id, to: output)
    }
    output.append(UInt8(ascii: "}"))
    return (output.written, own.count + 1)
  }

  /// The fields of a listed item with its data as it will be, for its size.
  func composed(_ fields: ElementFields, of item: ElementHandle?) -> ElementFields {
    let old = item.map { items[$0].content } ?? Content()
    var result = fields.filled(from: item.map { self.fields(item: $0) } ?? .ofNewItem)
    if references == nil || !fields.hasReferences && !old.hasReferences { return result }
    if item == nil, fields.data == nil { return result }
    result.data = composed(fields, over: old).data
    return result
  }

  /// Sets the fields of a listed item, if its own data fits its references.
  @inline(never)
  func setListed(_ position: Int, _ handle: ElementHandle, _ decoder: RecordDecoder) throws(Rejection) {
    let fields = decoder.fields(ofItem: position)
    let isPresent = items[handle].isPresent
    try checkReferences(fields, of: isPresent ? handle : nil, decoder.limits)
    if isPresent, fields.isEmpty { return }
    setContent(item: handle, isPresent ? fields : fields.filled(from: .ofNewItem))
  }

  // MARK: Blocks

  /// A new block of references, with one use.
  func makeReferences(_ text: ByteSpan, of item: ElementHandle) -> References {
    let block = References(copying: text, of: item, feed: number)
    references?.add(block)
    referenceCount += 1
    return block
  }

  /// Ends a content's use of its references.
  @inline(never)
  func releaseReferences(of content: Content) {
    guard let block = content.references, block.endUse() else { return }
    references?.remove(block)
    referenceCount -= 1
    free(block.address)
  }

  // MARK: Contents

  /// Becomes a state of a directory that shows contents.
  func join(_ index: ReferenceIndex, as number: UInt32) {
    references = index
    self.number = number
    forEachReferring { item, block in
      block.feed = number
      index.add(block)
      separateOwnData(of: item)
    }
  }

  /// Calls the body with each item that has references. O(n), unless there is none.
  func forEachReferring(_ body: (ElementHandle, References) -> Void) {
    if referenceCount == 0 { return }
    for section in currentHandles(.sections) {
      for item in currentHandles(.items(of: section)) {
        if let block = items[item].content.references { body(item, block) }
      }
    }
  }

  /// Finds the end of an item's own data in data from a changeset, which ends with the references' members.
  private func separateOwnData(of item: ElementHandle) {
    let content = items[item].content
    // A foreign store may have published other data, whose length stays unknown.
    guard let block = content.references, content.data[0] == UInt8(ascii: "{") else { return }
    var scanner = JSONScanner(content.data)
    var ends = [1]
    while ends[ends.count - 1] < content.data.count - 1 {
      let start = ends[ends.count - 1]
      let name = scanner.endOfString(start == 1 ? 1 : start + 1)
      ends.append(scanner.endOfValue(name + 1))
    }
    items[item].content.setOwnCount(ends[max(0, ends.count - 1 - block.count)] + 1)
  }

  /// Whether an item shows the present contents.
  func isCurrent(_ item: ElementHandle) -> Bool {
    let content = items[item].content
    let (data, _) = composed(ElementFields(), over: content)
    return content.data.hasSameBytes(as: data)
  }

  /// Composes an item's data again, and moves it if its section is ordered.
  ///
  /// - Returns: whether its data changed.
  func showContents(_ item: ElementHandle) -> Bool {
    // An ordered section that need not be sorted, as after a restoration, stays so.
    if isCurrent(item) { return false }
    change(item, ElementFields(), staysInSection: true)
    return true
  }

  /// An item's own data, in the arena.
  func ownData(_ content: Content, _ arena: ScratchArena) -> ByteSpan {
    let own = content.ownStart
    let copy = arena.allocate(own.count + 1)
    copy.update(from: own.base, count: own.count)
    copy[own.count] = UInt8(ascii: "}")
    return ByteSpan(UnsafePointer(copy), own.count + 1)
  }

  // MARK: Checking

  /// Whether an item of the feed, or of a record, has references.
  @inline(__always)
  func refers(_ decoder: RecordDecoder) -> Bool { referenceCount != 0 || decoder.hasReferences }

  /// Rejects fields with which an item would have references that its own data does not fit.
  ///
  /// - Parameter item: nil for an item that is not in the feed.
  @inline(never)
  func checkReferences(
    _ fields: ElementFields,
    of item: ElementHandle?,
    _ limits: Limits
  ) throws(Rejection) {
    let old = item.map { items[$0].content } ?? Content()
    let text = fields.refs ?? old.references?.text ?? .empty
    if text.isEmpty || fields.data == nil && fields.refs == nil { return }
    let data = fields.data ?? (old.isSet ? nil : FeedState.null)
    let own = data.map { ByteSpan($0.base, $0.count - 1) } ?? old.ownStart
    guard own.count > 0, own[0] == UInt8(ascii: "{") else {
      throw Rejection(
        .invalidField,
        field: "refs",
        "needs data that is an object, to which the contents are added",
        found: (data ?? old.data).valueForMessage()
      )
    }
    var scanner = JSONScanner(own)
    var at = 1
    while at < own.count {
      let end = scanner.endOfString(at)
      let name = ByteSpan(own.base + at, end - at)
      for member in References.Members(text) where UnescapedBytes.areEqual(name, member.name) {
        throw Rejection(
          .invalidField,
          field: "refs",
          "has the name of a member of the item's own data",
          found: member.name.quotedForMessage()
        )
      }
      at = scanner.endOfValue(end + 1) + 1
    }
    guard own.count < limits.maxDataBytes / 2 else {
      throw Rejection(
        .limitExceeded,
        field: "data",
        "has \(own.count + 1) bytes, more than half of limits.maxDataBytes (\(limits.maxDataBytes)), which leaves "
          + "the other half to the contents of its references"
      )
    }
  }
}
