/// How a reload spells what it lists.
///
/// The same code writes to a buffer and counts, and brackets are counted from their own text, so that text and count cannot
/// disagree.
enum ReloadText {
  static var sectionsOpening: StaticString { ",\"sections\":[" }
  static var itemsOpening: StaticString { ",\"items\":[" }
  static var comma: StaticString { "," }
  static var listEnd: StaticString { "]" }
  static var objectEnd: StaticString { "}" }

  /// Bytes that a list takes besides its elements and the commas between them.
  @inline(__always)
  static func listFrame(_ opening: StaticString) -> Int {
    opening.utf8CodeUnitCount + listEnd.utf8CodeUnitCount
  }
}
