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

  /// Appends an element but for a section's items and the end of its object.
  ///
  /// - Parameter fields: none where the section continues an earlier part's.
  @inline(__always)
  static func append<Sink: ByteSink>(
    _ id: ByteSpan,
    needsEscapes: Bool,
    _ fields: ElementFields,
    to output: inout Sink
  ) {
    output.append("{\"id\":")
    output.append(quoted: id, needsEscapes: needsEscapes)
    fields.write(to: &output)
  }

  /// Bytes of an element, without a section's items.
  static func byteCount(_ id: ByteSpan, _ fields: ElementFields) -> Int {
    var counter = ByteCounter()
    counter.append("{\"id\":")
    counter.append(quoted: id)
    fields.write(to: &counter)
    counter.append(objectEnd)
    return counter.count
  }
}
