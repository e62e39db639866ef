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

  /// Appends a section but for its items and the end of its object.
  ///
  /// - Parameter data: nil where the section continues an earlier part's.
  @inline(__always)
  static func appendSection<Sink: ByteSink>(
    _ id: ByteSpan,
    needsEscapes: Bool,
    data: ByteSpan?,
    to output: inout Sink
  ) {
    output.append("{\"id\":")
    output.append(quoted: id, needsEscapes: needsEscapes)
    guard let data else { return }
    output.append(",\"data\":")
    output.append(data)
  }

  @inline(__always)
  static func appendItem<Sink: ByteSink>(
    _ id: ByteSpan,
    needsEscapes: Bool,
    kind: ByteSpan,
    data: ByteSpan,
    to output: inout Sink
  ) {
    output.append("{\"id\":")
    output.append(quoted: id, needsEscapes: needsEscapes)
    output.append(",\"kind\":")
    output.append(quoted: kind)
    output.append(",\"data\":")
    output.append(data)
    output.append(objectEnd)
  }

  // MARK: Frames

  private static let emptyQuotes = 2

  /// Bytes of a section without items, besides its id in quotes and its data.
  static let sectionFrame: Int = {
    var counter = ByteCounter()
    appendSection(.empty, needsEscapes: false, data: .empty, to: &counter)
    counter.append(objectEnd)
    return counter.count - emptyQuotes
  }()

  /// Bytes of an item, besides its id and kind in quotes and its data.
  static let itemFrame: Int = {
    var counter = ByteCounter()
    appendItem(.empty, needsEscapes: false, kind: .empty, data: .empty, to: &counter)
    return counter.count - 2 * emptyQuotes
  }()
}
