/// Sizes of elements as a reload writes them, so that the size of a reload is known without writing it.
extension FeedState {
  /// Bytes of `{"id":…,"kind":…,"data":…}`.
  func sizeOfItem(_ item: UInt32) -> Int {
    23 + JSONString.quotedCount(items.id(item)) + JSONString.quotedCount(kind(item))
      + Int(items[item].content.dataCount)
  }

  /// Bytes of `{"id":…,"data":…}`, without items.
  func sizeOfSection(_ section: UInt32) -> Int {
    15 + JSONString.quotedCount(sections.id(section)) + Int(sections[section].content.dataCount)
  }
}
