/// Sizes of elements as a reload writes them, so that the size of a reload is known without writing it.
extension FeedState {
  /// Bytes of `{"id":,"kind":,"data":}`.
  static let itemFrame = 23
  /// Bytes of `{"id":,"data":}`.
  static let sectionFrame = 15

  /// Bytes of `{"id":…,"kind":…,"data":…}`.
  func sizeOfItem(_ item: UInt32) -> Int {
    FeedState.itemFrame + items.quotedCount(item) + JSONString.quotedCount(kind(item))
      + Int(items[item].content.dataCount)
  }

  /// Bytes of `{"id":…,"data":…}`, without items.
  func sizeOfSection(_ section: UInt32) -> Int {
    FeedState.sectionFrame + sections.quotedCount(section)
      + Int(sections[section].content.dataCount)
  }
}
