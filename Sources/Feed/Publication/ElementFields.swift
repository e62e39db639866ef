/// What a section or an item consists of, besides its id and its place: the only place that says how its fields are written and
/// read, in a reload and in an entry of a difference.
///
/// Spans point into what was read.
package struct ElementFields {
  /// The kind, which only items have; nil if it was not given.
  package var kind: ByteSpan?
  package var data: ByteSpan?

  static let maxKindBytes = 255

  /// What a section has if nothing was given.
  static var ofNewSection: ElementFields { ElementFields(kind: nil, data: FeedState.null) }

  package init(kind: ByteSpan? = nil, data: ByteSpan? = nil) {
    self.kind = kind
    self.data = data
  }

  /// Reads a member of a listed element or of an entry; does nothing if it is not one of the fields.
  mutating func read(
    _ name: ByteSpan,
    _ value: DecodedChangeset.Field,
    of record: DecodedChangeset,
    hasKind: Bool = true
  ) throws(ReplicaFault) {
    if hasKind, name.matches("kind") {
      kind = try record.string(name, value)
    } else if name.matches("data") {
      data = record.data(value)
    }
  }

  /// Whether all fields are there that an element must have.
  package func isWhole(isItem: Bool) -> Bool { data != nil && (kind != nil || !isItem) }

  /// Whether no field is longer than it may be.
  var isWithinLimits: Bool { (kind?.count ?? 0) <= Self.maxKindBytes }

  var isEmpty: Bool { kind == nil && data == nil }

  // MARK: Writing

  /// Appends an element's fields.
  ///
  /// - Parameter kind: nil for a section, and where an item keeps its kind.
  @inline(__always)
  static func append<Sink: ByteSink>(kind: ByteSpan?, data: ByteSpan, to output: inout Sink) {
    if let kind {
      output.append(",\"kind\":")
      output.append(quoted: kind)
    }
    output.append(",\"data\":")
    output.append(data)
  }

  private static var idOpening: StaticString { "{\"id\":" }
  private static var emptyQuotes: Int { 2 }

  /// Bytes of a section without items in a reload, besides its id in quotes and its data.
  static let sectionFrame = frame { append(kind: nil, data: .empty, to: &$0) }
  /// Bytes of an item in a reload, besides its id and kind in quotes and its data.
  static let itemFrame = frame { append(kind: .empty, data: .empty, to: &$0) } - emptyQuotes

  private static func frame(_ fields: (inout ByteCounter) -> Void) -> Int {
    var counter = ByteCounter()
    counter.append(idOpening)
    fields(&counter)
    counter.append(ReloadText.objectEnd)
    return counter.count
  }

  /// Appends the beginning of an element's object in a list: its id.
  @inline(__always)
  static func appendID<Sink: ByteSink>(
    of handle: ElementHandle,
    in table: ElementTable,
    to output: inout Sink
  ) {
    output.append(idOpening)
    output.append(idOf: handle, in: table)
  }
}

/// A section or an item as a reload lists it.
package struct ReloadedElement {
  package private(set) var id = ByteSpan.empty
  package private(set) var fields = ElementFields()
  /// A section's items; the first token is 0 if it has none.
  package private(set) var items: DecodedChangeset.Field = (0, 0)

  package init(
    _ element: DecodedChangeset.Field,
    of record: DecodedChangeset,
    isItem: Bool
  ) throws(ReplicaFault) {
    try record.forEachMember(element) { name, value throws(ReplicaFault) in
      if name.matches("id") {
        id = try record.string(name, value)
      } else if !isItem, name.matches("items") {
        items = value
      } else {
        try fields.read(name, value, of: record, hasKind: isItem)
      }
    }
  }
}

extension FeedState {
  /// Appends an element's fields.
  ///
  /// - Parameter withKind: false for a section, and where an item keeps its kind.
  @inline(__always)
  func appendFields<Sink: ByteSink>(
    of handle: ElementHandle,
    in table: ElementTable,
    withKind: Bool,
    to output: inout Sink
  ) {
    ElementFields.append(kind: withKind ? kind(handle) : nil, data: table[handle].data, to: &output)
  }

  /// Appends an item as a reload lists it.
  @inline(__always)
  func appendItem<Sink: ByteSink>(_ item: ElementHandle, to output: inout Sink) {
    ElementFields.appendID(of: item, in: items, to: &output)
    appendFields(of: item, in: items, withKind: true, to: &output)
    output.append(ReloadText.objectEnd)
  }

  /// Appends a section as a reload lists it, but for its items and the end of its object.
  ///
  /// - Parameter isContinued: whether an earlier part has listed it with its fields.
  @inline(__always)
  func appendSection<Sink: ByteSink>(_ section: ElementHandle, isContinued: Bool, to output: inout Sink) {
    ElementFields.appendID(of: section, in: sections, to: &output)
    if !isContinued { appendFields(of: section, in: sections, withKind: false, to: &output) }
  }

  /// Bytes of an item in a reload.
  func sizeOfItem(_ item: ElementHandle) -> Int {
    var counter = ByteCounter()
    appendItem(item, to: &counter)
    return counter.count
  }

  /// Bytes of a section in a reload, without items.
  func sizeOfSection(_ section: ElementHandle, isContinued: Bool = false) -> Int {
    var counter = ByteCounter()
    appendSection(section, isContinued: isContinued, to: &counter)
    counter.append(ReloadText.objectEnd)
    return counter.count
  }
}
