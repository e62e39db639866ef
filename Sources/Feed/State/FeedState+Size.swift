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
    ReloadText.appendItem(
      items.id(item),
      needsEscapes: items[item].needsEscapes,
      kind: kind(item),
      data: items[item].data,
      to: &output
    )
  }

  /// Appends a section as a reload lists it, but for its items and the end of its object.
  @inline(__always)
  func appendSection<Sink: ByteSink>(_ section: ElementHandle, withData: Bool, to output: inout Sink) {
    ReloadText.appendSection(
      sections.id(section),
      needsEscapes: sections[section].needsEscapes,
      data: withData ? sections[section].data : nil,
      to: &output
    )
  }
}
