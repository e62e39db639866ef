import Glibc

/// The fields of an element other than its id and its place: an item has a kind and data; a section has data,
/// and may have an order and a bound.
///
/// Only this file defines the fields and their spelling in changesets. A nil field keeps the element's value.
package struct ElementFields {
  /// Items only.
  package var kind: ByteSpan?
  package var data: ByteSpan?
  /// Sections only, in the spelling of ``SectionOrder``; empty for none.
  package var order: ByteSpan?
  /// Sections only: the maximum number of items, in digits; empty for none.
  package var keep: ByteSpan?
  /// Sections only: milliseconds from the last write to an item's end, in digits; empty for none.
  package var ttl: ByteSpan?
  /// Items only: the end, in milliseconds since 1970; `ItemEnds.never` for none.
  package var expires: Int64?

  package init(
    kind: ByteSpan? = nil,
    data: ByteSpan? = nil,
    order: ByteSpan? = nil,
    keep: ByteSpan? = nil,
    ttl: ByteSpan? = nil,
    expires: Int64? = nil
  ) {
    self.kind = kind
    self.data = data
    self.order = order
    self.keep = keep
    self.ttl = ttl
    self.expires = expires
  }

  /// The default fields of an item.
  static var ofNewItem: ElementFields {
    ElementFields(kind: .empty, data: FeedState.null, expires: ItemEnds.never)
  }
  /// The default fields of a section.
  static var ofNewSection: ElementFields {
    ElementFields(data: FeedState.null, order: .empty, keep: .empty, ttl: .empty)
  }

  @inline(__always)
  package var isEmpty: Bool {
    kind == nil && data == nil && order == nil && keep == nil && ttl == nil && expires == nil
  }

  /// Whether all required fields of an element are present.
  package func isWhole(isItem: Bool) -> Bool { data != nil && (kind != nil || !isItem) }

  /// Whether no field is too long.
  var isWithinLimits: Bool { (kind?.count ?? 0) <= 255 }

  /// These fields, with another's in place of absent ones.
  @inline(__always)
  func filled(from other: ElementFields) -> ElementFields {
    ElementFields(
      kind: kind ?? other.kind,
      data: data ?? other.data,
      order: order ?? other.order,
      keep: keep ?? other.keep,
      ttl: ttl ?? other.ttl,
      expires: expires ?? other.expires
    )
  }

  /// These fields without the kind.
  var withoutKind: ElementFields {
    var fields = self
    fields.kind = nil
    return fields
  }

  /// These fields for an element with data: an absent order, limit, time to live or end means none.
  func ofWhole(isItem: Bool) -> ElementFields {
    if data == nil { return self }
    return filled(from: isItem ? ElementFields(expires: ItemEnds.never) : .ofNewSection)
  }

  // MARK: Text

  /// Appends the fields as members that follow another member of the same object.
  @inline(__always)
  func write<Sink: ByteSink>(to output: inout Sink) {
    if let kind {
      output.append(",\"kind\":")
      output.append(quoted: kind)
    }
    if let data {
      output.append(",\"data\":")
      output.append(data)
    }
    if let order, !order.isEmpty {
      output.append(",\"order\":")
      output.append(order)
    }
    if let keep, !keep.isEmpty {
      output.append(",\"keep\":")
      output.append(keep)
    }
    if let ttl, !ttl.isEmpty {
      output.append(",\"ttl\":")
      output.append(ttl)
    }
    if let expires, expires != ItemEnds.never { Self.write(expires: expires, to: &output) }
  }

  @inline(never)
  static func write<Sink: ByteSink>(expires end: Int64, to output: inout Sink) {
    output.append(",\"expires\":\"")
    TimestampFormat.withText(of: end) { output.append($0) }
    output.append("\"")
  }

  /// Reads a member of an element in a changeset.
  ///
  /// - Returns: whether it is one of the fields.
  @inline(__always)
  mutating func read(
    _ name: ByteSpan,
    _ field: DecodedChangeset.Field,
    of record: DecodedChangeset,
    isItem: Bool
  ) throws(ReplicaFault) -> Bool {
    if name.matches("data") {
      data = record.data(field)
    } else if isItem, name.matches("kind") {
      kind = try record.string(name, field)
    } else if !isItem, name.matches("order") {
      // A later version may have more members, which are ignored. An invalid order counts as none.
      let known = try? SectionOrder(record.data(field))
      order = known.map { known in withExtendedLifetime(known.text) { record.arena.copy($0.span) } } ?? .empty
    } else if !isItem, name.matches("keep") {
      let digits = record.data(field)
      keep = SectionSettings.bound(digits) == nil ? .empty : digits
    } else if !isItem, name.matches("ttl") {
      let digits = record.data(field)
      ttl = SectionSettings.bound(digits, atMost: SectionSettings.greatestTTL) == nil ? .empty : digits
    } else if isItem, name.matches("expires") {
      // An invalid one counts as none, like an invalid order.
      let value = record.data(field)
      let text = value.count > 2 ? ByteSpan(value.base + 1, value.count - 2) : .empty
      expires = value[0] == UInt8(ascii: "\"") ? TimestampFormat.milliseconds(text) : nil
    } else {
      return false
    }
    return true
  }

  /// The first field that differs from the expected fields: its name, its value, and the expected value.
  package func mismatch(with expected: ElementFields) -> (name: String, found: String, expected: String)? {
    let (kind, expectedKind) = (kind ?? .empty, expected.kind ?? .empty)
    if !kind.hasSameBytes(as: expectedKind) {
      return ("kind", kind.quotedForMessage(), expectedKind.quotedForMessage())
    }
    let (data, expectedData) = (data ?? FeedState.null, expected.data ?? FeedState.null)
    if !data.hasSameBytes(as: expectedData) {
      return ("data", data.valueForMessage(), expectedData.valueForMessage())
    }
    let (end, expectedEnd) = (expires ?? ItemEnds.never, expected.expires ?? ItemEnds.never)
    if end != expectedEnd { return ("expires", ItemEnds.text(end), ItemEnds.text(expectedEnd)) }
    let settings = [
      ("order", order, expected.order), ("keep", keep, expected.keep), ("ttl", ttl, expected.ttl),
    ]
    for (name, found, expected) in settings {
      let (found, expected) = (found ?? .empty, expected ?? .empty)
      if !found.hasSameBytes(as: expected) {
        return (name, found.isEmpty ? "nothing" : found.text, expected.isEmpty ? "nothing" : expected.text)
      }
    }
    return nil
  }
}

/// A section or an item of a reload.
package struct ReloadedElement {
  package private(set) var id = ByteSpan.empty
  package private(set) var fields = ElementFields()
  /// The position of a section's items; starts with token 0 if there are none.
  package private(set) var items: DecodedChangeset.Field = (0, 0)

  @inline(__always)
  package init(
    _ element: DecodedChangeset.Field,
    of record: DecodedChangeset,
    isItem: Bool
  ) throws(ReplicaFault) {
    try record.forEachMember(element) { name, field throws(ReplicaFault) in
      if name.matches("id") {
        id = try record.string(name, field)
      } else if try fields.read(name, field, of: record, isItem: isItem) {
        return
      } else if !isItem, name.matches("items") {
        items = field
      }
    }
    fields = fields.ofWhole(isItem: isItem)
  }
}

/// The stored fields of an element: data, and an item's kind and end. The owner of the content owns its bytes and one
/// use of its kind, and releases them with `FeedState.release`.
struct Content {
  /// The data in a separate block; nil before the first content is set.
  private(set) var bytes: UnsafeMutablePointer<UInt8>?
  /// The data's bytes, and in the top bit whether an item's end follows them.
  private var counts: UInt32 = 0
  /// Distinguishes most data without reading the old bytes, which are in no cache.
  private(set) var fingerprint: UInt32 = 0
  /// The number of an item's kind in the feed's `KindTable`; for a section, the empty kind's.
  private(set) var kind = KindTable.empty

  /// No content.
  init() {}

  /// A copy of all fields except the kind.
  ///
  /// - Parameters:
  ///   - old: provides the absent fields.
  ///   - kind: its number; the content takes over one use.
  ///   - blocks: the source of the memory; nil for the allocator.
  init(
    copying fields: ElementFields,
    over old: Content,
    fingerprint: UInt32,
    kind: UInt32,
    blocks: BlockPool.Handle?
  ) {
    let data = fields.data ?? old.data
    let end = fields.expires ?? old.end
    let endCount = end == ItemEnds.never ? 0 : Self.endBytes
    let block = BlockPool.block(data.count + endCount, from: blocks)
    memcpy(block, data.base, data.count)
    bytes = block
    counts = UInt32(data.count)
    if endCount > 0 {
      UnsafeMutableRawPointer(block + data.count).storeBytes(of: end, as: Int64.self)
      counts |= Self.endBit
    }
    self.fingerprint = fingerprint
    self.kind = kind
  }

  private static let endBit: UInt32 = 1 << 31
  private static let endBytes = MemoryLayout<Int64>.size
  private var dataCount: Int { Int(counts & ~Self.endBit) }
  private var blockCount: Int { dataCount + (hasEnd ? Self.endBytes : 0) }

  var data: ByteSpan { bytes.map { ByteSpan(UnsafePointer($0), dataCount) } ?? .empty }

  /// Whether the item ends.
  @inline(__always)
  var hasEnd: Bool { counts & Self.endBit != 0 }

  /// When the item ends; `ItemEnds.never` if it does not.
  @inline(__always)
  var end: Int64 {
    guard hasEnd, let bytes else { return ItemEnds.never }
    return UnsafeRawPointer(bytes + dataCount).loadUnaligned(as: Int64.self)
  }

  /// Whether the content was set.
  var isSet: Bool { bytes != nil }

  /// All fields except the kind.
  @inline(__always)
  var fields: ElementFields { ElementFields(data: data, expires: end) }

  /// Bytes that vary between contents, without the kind's.
  @inline(__always)
  var byteCount: Int { dataCount + (hasEnd ? ItemEnds.fieldBytes : 0) }

  func giveBack(to blocks: BlockPool.Handle?) { BlockPool.giveBack(bytes, blockCount, to: blocks) }

  // MARK: Comparing

  /// The fingerprint of the content with these fields.
  @inline(__always)
  func fingerprint(with fields: ElementFields) -> UInt32 {
    fields.data == nil && bytes != nil ? fingerprint : DataFingerprint.of(fields.data ?? .empty)
  }

  /// Whether the content has these fields already, apart from the kind.
  ///
  /// - Parameter fingerprint: the fingerprint of the content with these fields.
  @inline(__always)
  func has(_ fields: ElementFields, fingerprint: UInt32) -> Bool {
    bytes != nil && fields.data.map { hasSameData(as: $0, fingerprint: fingerprint) } ?? true
      && (fields.expires ?? end) == end
  }

  /// Whether another content has the same data and end.
  func isSame(as other: Content) -> Bool {
    hasSameData(as: other.data, fingerprint: other.fingerprint) && end == other.end
  }

  @inline(__always)
  func hasSameData(as other: ByteSpan, fingerprint: UInt32) -> Bool {
    self.fingerprint == fingerprint && data.hasSameBytes(as: other)
  }
}

extension FeedState {
  /// All fields of an item.
  @inline(__always)
  package func fields(item: ElementHandle) -> ElementFields {
    items[item].content.fields.filled(from: ElementFields(kind: kind(item)))
  }

  /// All fields of a section.
  @inline(__always)
  package func fields(section: ElementHandle) -> ElementFields {
    var fields = sections[section].content.fields
    let settings = list(.items(of: section)).pointee.settings
    fields.order = settings?.orderText ?? .empty
    fields.keep = settings?.keepText ?? .empty
    fields.ttl = settings?.ttlText ?? .empty
    fields.expires = nil
    return fields
  }
}
