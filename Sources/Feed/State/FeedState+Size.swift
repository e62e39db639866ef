/// Sizes of elements as a reload writes them, so that the size of a reload is known without writing it.
extension FeedState {
  /// Bytes of `{"id":,"kind":,"data":}`.
  static let itemFrame = 23
  /// Bytes of `{"id":,"data":}`.
  static let sectionFrame = 15

  /// Bytes of `{"id":…,"kind":…,"data":…}`.
  func sizeOfItem(_ item: UInt32) -> Int {
    FeedState.itemFrame + JSONString.quotedCount(items.id(item)) + JSONString.quotedCount(kind(item))
      + Int(items[item].content.dataCount)
  }

  /// Bytes of `{"id":…,"data":…}`, without items.
  func sizeOfSection(_ section: UInt32) -> Int {
    FeedState.sectionFrame + JSONString.quotedCount(sections.id(section))
      + Int(sections[section].content.dataCount)
  }
}
