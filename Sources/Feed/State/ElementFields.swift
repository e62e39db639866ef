import Glibc

/// A number that a field may set, in the memory of a number.
package struct NumberField: Equatable {
  /// The field keeps the element's number.
  package static var absent: NumberField { NumberField(.max) }
  /// The element has no number.
  package static var none: NumberField { NumberField(.max - 1) }
  /// The distance from the greatest number, so that absent fields are zeros.
  private let distance: UInt64

  @inline(__always)
  package init(_ number: Int64) { distance = UInt64(bitPattern: .max &- number) }

  /// A number from its digits; nil if they are invalid.
  init?(digits text: ByteSpan, in range: ClosedRange<Int64>) {
    guard text.buffer.allSatisfy({ $0 &- 0x30 < 10 }), let number = Int64(text.text), range.contains(number)
    else { return nil }
    self.init(number)
  }

  @inline(__always)
  package var number: Int64? { distance > 1 ? .max &- Int64(bitPattern: distance) : nil }

  /// Whether it is a time that has come.
  @inline(__always)
  func isReached(by now: Int64) -> Bool { distance >= NumberField(now).distance }

  @inline(__always)
  func or(_ other: NumberField) -> NumberField { self == .absent ? other : self }
}

/// The fields of an element other than its id and its place: an item has a kind and data, and may have an end;
/// a section has data, and may have an order, a bound and a time to live.
///
/// Only this file defines the fields and their spelling in changesets. A nil field keeps the element's value.
package struct ElementFields {
  /// Items only.
  package var kind: ByteSpan?
  package var data: ByteSpan?
  /// Sections only, in the spelling of ``SectionOrder``; empty for none.
  package var order: ByteSpan?
  /// Sections only: the maximum number of items.
  package var keep: NumberField
  /// Of an item, its end in milliseconds since 1970; of a section, the milliseconds from an item's last write to its end.
  /// One field for both, because these fields are copied often.
  package var lifetime: NumberField

  package init(
    kind: ByteSpan? = nil,
    data: ByteSpan? = nil,
    order: ByteSpan? = nil,
    keep: NumberField = .absent,
    lifetime: NumberField = .absent
  ) {
    self.kind = kind
    self.data = data
    self.order = order
    self.keep = keep
    self.lifetime = lifetime
  }

  /// The default fields of an item.
  static var ofNewItem: ElementFields {
    ElementFields(kind: .empty, data: FeedState.null, lifetime: .none)
  }
  /// The default fields of a section.
  static var ofNewSection: ElementFields {
    ElementFields(data: FeedState.null, order: .empty, keep: .none, lifetime: .none)
  }

  @inline(__always)
  package var isEmpty: Bool {
    kind == nil && data == nil && order == nil && keep == .absent && lifetime == .absent
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
      keep: keep.or(other.keep),
      lifetime: lifetime.or(other.lifetime)
    )
  }

  /// These fields without the kind.
  var withoutKind: ElementFields {
    var fields = self
    fields.kind = nil
    return fields
  }

  /// Completes the fields of an element with data: an absent order, limit, time to live or end means none.
  @inline(__always)
  mutating func complete(isItem: Bool) {
    if data == nil { return }
    if isItem { lifetime = lifetime.or(.none) } else { self = filled(from: .ofNewSection) }
  }

  // MARK: Text

  /// Appends the fields as members that follow another member of the same object. Those of a section have an order,
  /// which may be empty.
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
    if order != nil || lifetime.number != nil { Self.write(order, keep, lifetime, to: &output) }
  }

  @inline(never)
  private static func write<Sink: ByteSink>(
    _ order: ByteSpan?,
    _ keep: NumberField,
    _ lifetime: NumberField,
    to output: inout Sink
  ) {
    if let order, !order.isEmpty {
      output.append(",\"order\":")
      output.append(order)
    }
    if let keep = keep.number {
      output.append(",\"keep\":")
      output.append(decimal: Int(keep))
    }
    if let ttl = lifetime.number, order != nil {
      output.append(",\"ttl\":")
      output.append(decimal: Int(ttl))
    } else if let end = lifetime.number {
      output.append(",\"expires\":\"")
      TimestampFormat.withText(of: end) { output.append($0) }
      output.append("\"")
    }
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
      keep = NumberField(digits: record.data(field), in: SectionSettings.bounds) ?? .none
    } else if !isItem, name.matches("ttl") {
      lifetime = NumberField(digits: record.data(field), in: SectionSettings.timesToLive) ?? .none
    } else if isItem, name.matches("expires") {
      let value = record.data(field)
      let text = value.count > 2 ? ByteSpan(value.base + 1, value.count - 2) : .empty
      lifetime = TimestampFormat.milliseconds(text).map { NumberField($0) } ?? .none
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
    func others(_ fields: ElementFields) -> [(name: String, value: String)] {
      let time = { (time: Int64) in TimestampFormat.withText(of: time) { $0.text } }
      let lifetime = fields.lifetime.number
      return [
        ("order", fields.order?.text ?? ""), ("keep", fields.keep.number.map { String($0) } ?? ""),
        order == nil ? ("expires", lifetime.map(time) ?? "") : ("ttl", lifetime.map { String($0) } ?? ""),
      ]
    }
    for (found, expected) in zip(others(self), others(expected)) where found.value != expected.value {
      let values = [found.value, expected.value].map { $0.isEmpty ? "nothing" : $0 }
      return (found.name, values[0], values[1])
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
    fields.complete(isItem: isItem)
  }
}

/// The stored fields of an element: data, and an item's kind and end. The owner of the content owns its bytes and one
/// use of its kind, and releases them with `FeedState.release`.
struct Content {
  /// The data in a separate block; nil before the first content is set.
  private(set) var bytes: UnsafeMutablePointer<UInt8>?
  private var dataCount: UInt32 = 0
  /// Distinguishes most data without reading the old bytes, which are in no cache. The lowest bit says whether an item's
  /// end follows the data.
  private(set) var fingerprint: UInt32 = 0
  /// The number of an item's kind in the feed's `KindTable`; for a section, the empty kind's.
  private(set) var kind = KindTable.empty

  /// No content.
  init() {}

  /// A copy of all fields except the kind and the end.
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
    let block = BlockPool.block(data.count, from: blocks)
    memcpy(block, data.base, data.count)
    bytes = block
    dataCount = UInt32(data.count)
    self.fingerprint = fingerprint & ~1
    self.kind = kind
  }

  /// Adds the end.
  @inline(never)
  mutating func append(_ end: NumberField, _ blocks: BlockPool.Handle?) {
    guard let end = end.number else { return }
    let block = BlockPool.block(Int(dataCount) + Self.endBytes, from: blocks)
    memcpy(block, data.base, Int(dataCount))
    UnsafeMutableRawPointer(block + Int(dataCount)).storeBytes(of: end, as: Int64.self)
    giveBack(to: blocks)
    bytes = block
    fingerprint |= 1
  }

  private static let endBytes = MemoryLayout<Int64>.size
  /// Bytes of the end as a member.
  static let endFieldBytes = #","expires":"""#.utf8.count + TimestampFormat.byteCount

  var data: ByteSpan { bytes.map { ByteSpan(UnsafePointer($0), Int(dataCount)) } ?? .empty }

  /// Whether the item ends.
  @inline(__always)
  var hasEnd: Bool { fingerprint & 1 != 0 }

  /// When the item ends.
  @inline(__always)
  var end: NumberField { hasEnd ? storedEnd : .none }

  @inline(never)
  private var storedEnd: NumberField {
    NumberField(UnsafeRawPointer(data.base + data.count).loadUnaligned(as: Int64.self))
  }

  /// Whether the content was set.
  var isSet: Bool { bytes != nil }

  /// Bytes that vary between contents, without the kind's and the end's.
  @inline(__always)
  var byteCount: Int { Int(dataCount) }

  func giveBack(to blocks: BlockPool.Handle?) {
    BlockPool.giveBack(bytes, Int(dataCount) + (hasEnd ? Self.endBytes : 0), to: blocks)
  }

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
      && (fields.lifetime == .absent || fields.lifetime == end)
  }

  /// Whether another content has the same data and end.
  @inline(__always)
  func isSame(as other: Content) -> Bool {
    fingerprint == other.fingerprint && data.hasSameBytes(as: other.data) && end == other.end
  }

  @inline(__always)
  func hasSameData(as other: ByteSpan, fingerprint: UInt32) -> Bool {
    self.fingerprint ^ fingerprint < 2 && data.hasSameBytes(as: other)
  }
}

extension FeedState {
  /// All fields of an item.
  @inline(__always)
  package func fields(item: ElementHandle) -> ElementFields {
    let content = items[item].content
    return ElementFields(kind: kind(item), data: content.data, lifetime: content.end)
  }

  /// All fields of a section.
  @inline(__always)
  package func fields(section: ElementHandle) -> ElementFields {
    let settings = list(.items(of: section)).pointee.settings
    return ElementFields(
      data: sections[section].content.data,
      order: settings?.orderText ?? .empty,
      keep: settings?.keep ?? .none,
      lifetime: settings?.ttl ?? .none
    )
  }
}
