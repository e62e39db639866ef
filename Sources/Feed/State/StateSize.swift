/// The size of state for `limits.maxStateBytes`: a formula that depends only on the content.
///
/// The numbers are chosen so that the memory that is really taken is about as much or less; docs/rejected.md compares them.
public enum StateSize {
  /// Bytes of a feed that exists, without its sections.
  public static let feed = 1024
  /// Bytes of a section, in addition to its id and data as a reload writes them, and without its items.
  public static let section = 256
  /// Bytes of an item, in addition to its id, kind and data as a reload writes them.
  public static let item = 128

  /// An upper bound on an element's bytes beyond its text in the record: formula, names of fields, `null`.
  static let mostPerElement = 384
}

/// Sizes of elements in a reload, so that its size is known without writing it.
extension FeedState {
  /// Bytes of `{"id":…,"kind":…,"data":…}`.
  func sizeOfItem(_ item: ElementHandle) -> Int {
    var counter = ByteCounter()
    appendItem(item, to: &counter)
    return counter.count
  }

  /// Bytes of `{"id":…,"data":…}`, without items.
  func sizeOfSection(_ section: ElementHandle, withData: Bool = true) -> Int {
    var counter = ByteCounter()
    appendSection(section, withData: withData, to: &counter)
    counter.append(ReloadText.objectEnd)
    return counter.count
  }

  /// Appends an item in its form in a reload.
  @inline(__always)
  func appendItem<Sink: ByteSink>(_ item: ElementHandle, to output: inout Sink) {
    ReloadText.append(items.id(item), needsEscapes: items[item].needsEscapes, fields(item: item), to: &output)
    output.append(ReloadText.objectEnd)
  }

  /// Appends a section in its form in a reload, without its items and the end of its object.
  @inline(__always)
  func appendSection<Sink: ByteSink>(_ section: ElementHandle, withData: Bool, to output: inout Sink) {
    ReloadText.append(
      sections.id(section),
      needsEscapes: sections[section].needsEscapes,
      withData ? fields(section: section) : ElementFields(),
      to: &output
    )
  }
}

/// The size after an event with whole lists, computed before the event changes anything.
extension FeedState {
  /// The size of a feed's content.
  struct Measure: Equatable {
    var items = 0
    /// By the formula of ``StateSize``, without the feed's own part.
    var bytes = 0
    /// Whether the bytes include items beyond the section's limit.
    var isCut = false
  }

  /// The current size of the content.
  @inline(__always)
  var measure: Measure {
    // These are numbers of elements in memory, so the sums need no overflow checks.
    Measure(
      items: totals.itemCount,
      bytes: totals.itemBytes &+ totals.sectionBytes &+ totals.itemCount &* StateSize.item
        &+ sectionCount &* StateSize.section
    )
  }

  /// The size of the content after `feed.replace` or `section.replace`. O(listed and replaced elements).
  func measure(after event: Event, _ decoder: RecordDecoder) -> Measure {
    if event.operation == .feedReplace {
      return measure(replacingBy: decoder.sections[event.sections], decoder)
    }
    let section = sections.findPresent(event.section)
    let scope = section.map { Scope.items(of: $0) }
    var result = measure
    let fields: ElementFields
    if let section {
      var cursor = CurrentCursor(list(.items(of: section)).pointee.tree)
      while let item = cursor.next() { subtract(item, from: &result) }
      let known = self.fields(section: section)
      fields = event.fields.filled(from: known)
      result.bytes += ReloadText.byteCount(.empty, fields)
      result.bytes -= ReloadText.byteCount(.empty, known)
    } else {
      fields = event.fields.filled(from: .ofNewSection)
      result.bytes += StateSize.section + ReloadText.byteCount(event.section, fields)
    }
    cut(event.items.count, fields.keep, from: &result)
    for position in event.items {
      let listed = decoder.items[position]
      let known = items.find(listed.id, listed.hash).flatMap { items[$0].isPresent ? $0 : nil }
      if let known, items[known].scope != scope { subtract(known, from: &result) }
      add(listed, decoder.fields(ofItem: position), known, fields.lifetime, to: &result)
    }
    return result
  }

  /// The elements that an event's whole lists remove, even if it puts some back. O(1).
  func removal(by event: UnsafePointer<Event>) -> Removal {
    switch event.pointee.operation {
    case .feedClear, .feedDelete, .feedReplace:
      return Removal(sections: sectionCount, items: totals.itemCount)
    case .sectionReplace, .sectionDelete:
      guard let section = sections.findPresent(event.pointee.section) else { return Removal() }
      return Removal(items: Int(list(.items(of: section)).pointee.tree.currentCount))
    default: return Removal()
    }
  }

  struct Removal {
    var sections = 0
    var items = 0
  }

  private func measure(replacingBy listed: ArraySlice<ListedSection>, _ decoder: RecordDecoder) -> Measure {
    var result = Measure()
    for section in listed {
      let known = sections.find(section.id, section.hash).flatMap { sections[$0].isPresent ? $0 : nil }
      let fields = section.fields.filled(from: known.map { self.fields(section: $0) } ?? .ofNewSection)
      result.bytes += StateSize.section + ReloadText.byteCount(section.id, fields)
      cut(section.items.count, fields.keep, from: &result)
      for position in section.items {
        let item = decoder.items[position]
        let known = items.find(item.id, item.hash).flatMap { items[$0].isPresent ? $0 : nil }
        add(item, decoder.fields(ofItem: position), known, fields.lifetime, to: &result)
      }
    }
    return result
  }

  /// Subtracts the listed items beyond a section's limit.
  private func cut(_ count: Int, _ keep: NumberField, from measure: inout Measure) {
    guard let keep = keep.number, count > keep else { return }
    measure.items -= count - Int(keep)
    measure.isCut = true
  }

  private func subtract(_ item: ElementHandle, from measure: inout Measure) {
    measure.items -= 1
    measure.bytes -= StateSize.item + sizeOfItem(item)
  }

  /// - Parameter known: the existing item with that id, whose kind and data are kept.
  private func add(
    _ listed: ListedItem,
    _ given: ElementFields,
    _ known: ElementHandle?,
    _ ttl: NumberField,
    to measure: inout Measure
  ) {
    var fields = given
    // The end itself does not matter, as all have the same number of bytes.
    fields.lifetime = listed.expires.or(FeedState.end(after: ttl, 0))
    fields = composed(fields, of: known)
    measure.items += 1
    measure.bytes += StateSize.item + ReloadText.byteCount(listed.id, fields)
  }
}
