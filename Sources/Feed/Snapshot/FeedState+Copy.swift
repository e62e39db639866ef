extension FeedState {
  /// Another state with the current content of this one, none of it changed since it was published.
  /// O(n), at the cost of an allocation an element, and one more for each long identifier.
  func copyOfCurrent() -> FeedState {
    let copy = FeedState()
    let sectionHandles = currentHandles(.sections)
    let copies = sectionHandles.map { section in
      let handle = copy.makeSettledSection(sections.id(section), sections[section].hash)
      copy.copyContent(sections[section], handle, copy.sections, fields(section: section))
      return handle
    }
    copy.appendSettled(copies, .sections, checksum: list(.sections).pointee.checksum)
    for (section, sectionCopy) in zip(sectionHandles, copies) {
      let itemCopies = currentHandles(.items(of: section)).map { item in
        let handle = copy.items.createSettled(items.id(item), items[item].hash)
        copy.copyContent(items[item], handle, copy.items, fields(item: item))
        return handle
      }
      let checksum = list(.items(of: section)).pointee.checksum
      copy.appendSettled(itemCopies, .items(of: sectionCopy), checksum: checksum)
    }
    copy.totals = totals
    copy.publishedTotals = totals
    return copy
  }

  private func copyContent(
    _ original: Element,
    _ handle: ElementHandle,
    _ table: ElementTable,
    _ fields: ElementFields
  ) {
    guard original.content.isSet else { return }
    setFirstContent(handle, table, fields, fingerprint: original.content.fingerprint)
  }
}
