/// What state counts as for `limits.maxStateBytes`: a formula, so that the same records come to the same number everywhere.
///
/// The numbers are chosen so that the memory that is really taken is about as much or less; docs/rejected.md compares them.
public enum StateSize {
  /// Bytes of a feed that exists, without its sections.
  public static let feed = 1024
  /// Bytes of a section, in addition to its id and data as a reload writes them, and without its items.
  public static let section = 256
  /// Bytes of an item, in addition to its id, kind and data as a reload writes them.
  public static let item = 128

  /// More than an element adds to what the record spells of it: the formula's part, the names of fields, and `null`.
  static let mostPerElement = 384
}

/// Sizes of elements as a reload writes them, so that the size of a reload is known without writing it.
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

  /// Appends an item as a reload lists it.
  @inline(__always)
  func appendItem<Sink: ByteSink>(_ item: ElementHandle, to output: inout Sink) {
    ReloadText.append(items.id(item), needsEscapes: items[item].needsEscapes, fields(item: item), to: &output)
    output.append(ReloadText.objectEnd)
  }

  /// Appends a section as a reload lists it, but for its items and the end of its object.
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

/// What an event that gives whole lists would lead to, found out before anything is changed for it.
extension FeedState {
  /// What a feed's content counts as.
  struct Measure: Equatable {
    var items = 0
    /// By the formula of ``StateSize``, without that of the feed itself.
    var bytes = 0
    /// Whether the bytes are those of more items than will be kept.
    var isCut = false
  }

  /// What the content counts as now.
  @inline(__always)
  var measure: Measure {
    // Counts of what is in memory: there are no overflows to look for, for each record.
    Measure(
      items: totals.itemCount,
      bytes: totals.itemBytes &+ totals.sectionBytes &+ totals.itemCount &* StateSize.item
        &+ sectionCount &* StateSize.section
    )
  }

  /// What the content would count as after `feed.replace` or `section.replace`. O(listed elements, and those of the list
  /// that is replaced).
  func measure(after event: Event, _ decoder: RecordDecoder) -> Measure {
    if event.operation == .feedReplace {
      return measure(replacingBy: decoder.sections[event.sections], decoder)
    }
    let section = sections.findPresent(event.section)
    let scope = section.map { Scope.items(of: $0) }
    var result = measure
    if let section {
      var cursor = CurrentCursor(list(.items(of: section)).pointee.tree)
      while let item = cursor.next() { subtract(item, from: &result) }
      let known = fields(section: section)
      result.bytes += ReloadText.byteCount(.empty, event.fields.filled(from: known))
      result.bytes -= ReloadText.byteCount(.empty, known)
    } else {
      let fields = event.fields.filled(from: .ofNewSection)
      result.bytes += StateSize.section + ReloadText.byteCount(event.section, fields)
    }
    cut(event.items.count, of: section, event.fields, from: &result)
    for listed in decoder.items[event.items] {
      let known = items.find(listed.id, listed.hash).flatMap { items[$0].isPresent ? $0 : nil }
      if let known, items[known].scope != scope { subtract(known, from: &result) }
      add(listed, known, to: &result)
    }
    return result
  }

  /// The elements that an event removes with whole lists, even if it puts some of them back, without the section that a
  /// `section.delete` names. O(1).
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
      cut(section.items.count, of: known, section.fields, from: &result)
      for item in decoder.items[section.items] {
        let known = items.find(item.id, item.hash).flatMap { items[$0].isPresent ? $0 : nil }
        add(item, known, to: &result)
      }
    }
    return result
  }

  /// Subtracts those of so many listed items that a section does not keep.
  private func cut(
    _ count: Int,
    of section: ElementHandle?,
    _ fields: ElementFields,
    from measure: inout Measure
  ) {
    let known = section.flatMap { list(.items(of: $0)).pointee.settings?.keep }
    guard let keep = fields.keep.map({ SectionSettings.bound($0) }) ?? known, count > keep else { return }
    measure.items -= count - keep
    measure.isCut = true
  }

  private func subtract(_ item: ElementHandle, from measure: inout Measure) {
    measure.items -= 1
    measure.bytes -= StateSize.item + sizeOfItem(item)
  }

  /// - Parameter known: the item of that id in the feed, if there is one, whose kind and data are kept.
  private func add(_ listed: ListedItem, _ known: ElementHandle?, to measure: inout Measure) {
    let fields = listed.fields.filled(from: known.map { self.fields(item: $0) } ?? .ofNewItem)
    measure.items += 1
    measure.bytes += StateSize.item + ReloadText.byteCount(listed.id, fields)
  }
}
