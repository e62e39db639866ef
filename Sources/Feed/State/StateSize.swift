/// What state counts as for `limits.maxStateBytes`: a formula, so that the same records come to the same number everywhere.
///
/// The numbers are chosen so that the memory that is really taken is about as much or less; docs/operating.md compares them.
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

/// What an event that gives whole lists would lead to, found out before anything is changed for it.
extension FeedState {
  /// What a feed's content counts as.
  struct Measure: Equatable {
    var items = 0
    /// By the formula of ``StateSize``, without that of the feed itself.
    var bytes = 0
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
      if let data = event.data { result.bytes += data.count - Int(sections[section].content.dataCount) }
    } else {
      result.bytes += FeedState.bytesOfSection(event.section, event.data, known: nil)
    }
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
      result.bytes += FeedState.bytesOfSection(
        section.id,
        section.data,
        known: known.map { Int(sections[$0].content.dataCount) }
      )
      for item in decoder.items[section.items] {
        let known = items.find(item.id, item.hash).flatMap { items[$0].isPresent ? $0 : nil }
        add(item, known, to: &result)
      }
    }
    return result
  }

  private func subtract(_ item: ElementHandle, from measure: inout Measure) {
    measure.items -= 1
    measure.bytes -= StateSize.item + sizeOfItem(item)
  }

  /// - Parameter known: the item of that id in the feed, if there is one, whose kind and data are kept.
  private func add(_ listed: ListedItem, _ known: ElementHandle?, to measure: inout Measure) {
    let kind = listed.kind ?? known.map { self.kind($0) } ?? .empty
    let data = listed.data?.count ?? known.map { Int(items[$0].content.dataCount) } ?? FeedState.null.count
    measure.items += 1
    measure.bytes +=
      StateSize.item + ElementFields.itemFrame + JSONString.quotedCount(listed.id)
      + JSONString.quotedCount(kind)
      + data
  }

  private static func bytesOfSection(_ id: ByteSpan, _ data: ByteSpan?, known: Int?) -> Int {
    StateSize.section + ElementFields.sectionFrame + JSONString.quotedCount(id)
      + (data?.count ?? known ?? null.count)
  }
}
