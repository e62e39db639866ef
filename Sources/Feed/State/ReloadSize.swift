/// Sizes of elements as a reload writes them, so that the size of a reload is known without writing it.
enum ReloadSize {
  /// Bytes of `{"id":…,"kind":…,"data":…}`.
  static func item(_ item: Element) -> Int {
    23 + JSONString.quotedCount(item.idSpan) + JSONString.quotedCount(item.kind) + Int(item.dataCount)
  }

  /// Bytes of `{"id":…,"data":…}`, without items.
  static func section(_ section: Element) -> Int {
    15 + JSONString.quotedCount(section.idSpan) + Int(section.dataCount)
  }
}
