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

/// The fields of an element other than its id and its place: an item has a kind and data, and may have an end
/// and references; a section has data, and may have an order, a bound and a time to live.
///
/// Only this file defines the fields and their spelling in changesets. A nil field keeps the element's value.
package struct ElementFields {
  /// Items only.
  package var kind: ByteSpan?
  package var data: ByteSpan?
  /// A section's order, or an item's references: one property, because these fields are copied often.
  private var setting: ByteSpan?
  /// Sections only: the maximum number of items.
  package var keep: NumberField
  /// Of an item, its end in milliseconds since 1970; of a section, the milliseconds from an item's last write to its end.
  /// One field for both, for the same reason.
  package var lifetime: NumberField

  package init(
    kind: ByteSpan? = nil,
    data: ByteSpan? = nil,
    order: ByteSpan? = nil,
    keep: NumberField = .absent,
    lifetime: NumberField = .absent,
    refs: ByteSpan? = nil
  ) {
    self.kind = kind
    self.data = data
    setting = order ?? refs
    self.keep = keep
    self.lifetime = lifetime
  }

  /// Sections only, in the spelling of ``SectionOrder``; empty for none.
  @inline(__always)
  package var order: ByteSpan? {
    get { setting }
    set { setting = newValue }
  }
  /// Items only, in their spelling in changesets; empty for none. In a changeset, the data includes the contents.
  @inline(__always)
  package var refs: ByteSpan? {
    get { setting }
    set { setting = newValue }
  }
  /// Whether there are references.
  @inline(__always)
  var hasReferences: Bool { setting.map { !$0.isEmpty } ?? false }

  /// The default fields of an item.
  static var ofNewItem: ElementFields {
    ElementFields(kind: .empty, data: FeedState.null, lifetime: .none, refs: .empty)
  }
  /// The default fields of a section.
  static var ofNewSection: ElementFields {
    ElementFields(data: FeedState.null, order: .empty, keep: .none, lifetime: .none)
  }

  @inline(__always)
  package var isEmpty: Bool {
    kind == nil && data == nil && setting == nil && keep == .absent && lifetime == .absent
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
      order: setting ?? other.setting,
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

  /// Completes the fields of an element with data: an absent order, limit, time to live, end or reference means none.
  @inline(__always)
  mutating func complete(isItem: Bool) {
    if data == nil { return }
    if !isItem {
      self = filled(from: .ofNewSection)
      return
    }
    lifetime = lifetime.or(.none)
    setting = setting ?? .empty
  }

  // MARK: Text

  /// Appends the fields as members that follow another member of the same object. A section's `keep` is set, maybe to
  /// none.
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
    if hasReferences || keep != .absent || lifetime.number != nil {
      Self.write(setting ?? .empty, keep, lifetime, to: &output)
    }
  }

  @inline(never)
  private static func write<Sink: ByteSink>(
    _ setting: ByteSpan,
    _ keep: NumberField,
    _ lifetime: NumberField,
    to output: inout Sink
  ) {
    guard keep != .absent else {
      if let end = lifetime.number {
        output.append(",\"expires\":\"")
        TimestampFormat.withText(of: end) { output.append($0) }
        output.append("\"")
      }
      if !setting.isEmpty {
        output.append(",\"refs\":")
        output.append(setting)
      }
      return
    }
    if !setting.isEmpty {
      output.append(",\"order\":")
      output.append(setting)
    }
    if let keep = keep.number {
      output.append(",\"keep\":")
      output.append(decimal: Int(keep))
    }
    if let ttl = lifetime.number {
      output.append(",\"ttl\":")
      output.append(decimal: Int(ttl))
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
    } else if isItem, name.matches("refs") {
      refs = record.references(field) ?? .empty
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
      let (setting, lifetime) = (fields.setting?.text ?? "", fields.lifetime.number)
      return keep == .absent
        ? [("expires", lifetime.map(time) ?? ""), ("refs", setting)]
        : [
          ("order", setting), ("keep", fields.keep.number.map { String($0) } ?? ""),
          ("ttl", lifetime.map { String($0) } ?? ""),
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

/// The stored fields of an element: data, and an item's kind, end and references. The owner of the content owns its
/// bytes, one use of its kind and one of its references, and releases them with `FeedState.release`.
struct Content {
  /// The data in a separate block; nil before the first content is set. An item's end may follow, then the address of
  /// its references and the length of its own data, which is 0 if it is not known.
  private(set) var bytes: UnsafeMutablePointer<UInt8>?
  private var dataCount: UInt32 = 0
  /// Distinguishes most data without reading the old bytes, which are in no cache. The two lowest bits say whether an
  /// item's end, and its references, follow the data.
  private(set) var fingerprint: UInt32 = 0
  /// The number of an item's kind in the feed's `KindTable`; for a section, the empty kind's.
  private(set) var kind = KindTable.empty

  private static let endBit: UInt32 = 1
  private static let referencesBit: UInt32 = 2

  /// No content.
  init() {}

  /// A copy of data.
  ///
  /// - Parameters:
  ///   - kind: its number; the content takes over one use.
  ///   - blocks: the source of the memory; nil for the allocator.
  init(
    copying data: ByteSpan,
    fingerprint: UInt32,
    kind: UInt32,
    blocks: BlockPool.Handle?
  ) {
    let block = BlockPool.block(data.count, from: blocks)
    memcpy(block, data.base, data.count)
    bytes = block
    dataCount = UInt32(data.count)
    self.fingerprint = fingerprint & ~(Content.endBit | Content.referencesBit)
    self.kind = kind
  }

  /// Adds the end and the references.
  ///
  /// - Parameters:
  ///   - references: the content takes over one use.
  ///   - ownCount: the length of the item's own data.
  @inline(never)
  mutating func append(
    _ end: NumberField,
    _ references: References? = nil,
    ownCount: Int = 0,
    blocks: BlockPool.Handle?
  ) {
    let old = self
    if end.number != nil { fingerprint |= Content.endBit }
    if references != nil { fingerprint |= Content.referencesBit }
    if !hasRest { return }
    let block = BlockPool.block(blockCount, from: blocks)
    memcpy(block, data.base, byteCount)
    old.giveBack(to: blocks)
    bytes = block
    let rest = UnsafeMutableRawPointer(block + byteCount)
    if let end = end.number { rest.storeBytes(of: end, as: Int64.self) }
    guard let references else { return }
    (rest + endCount).storeBytes(of: references.address, as: UnsafeMutableRawPointer.self)
    setOwnCount(ownCount)
  }

  private static let referencesCount = MemoryLayout<UInt>.size + MemoryLayout<UInt32>.size
  /// Bytes of the end as a member.
  static let endFieldBytes = #","expires":"""#.utf8.count + TimestampFormat.byteCount

  private var endCount: Int { hasEnd ? MemoryLayout<Int64>.size : 0 }
  private var blockCount: Int {
    byteCount + endCount + (hasReferences ? Content.referencesCount : 0)
  }

  @inline(__always)
  var data: ByteSpan { bytes.map { ByteSpan(UnsafePointer($0), byteCount) } ?? .empty }

  /// Whether an end or references follow the data.
  @inline(__always)
  var hasRest: Bool { fingerprint & (Content.endBit | Content.referencesBit) != 0 }

  /// Whether the item ends.
  @inline(__always)
  var hasEnd: Bool { fingerprint & Content.endBit != 0 }

  /// When the item ends.
  @inline(__always)
  var end: NumberField { hasEnd ? storedEnd : .none }

  @inline(never)
  private var storedEnd: NumberField {
    NumberField(UnsafeRawPointer(data.base + data.count).loadUnaligned(as: Int64.self))
  }

  /// Whether the content was set.
  var isSet: Bool { bytes != nil }

  /// Bytes that vary between contents, without the kind's, the end's and the references'.
  @inline(__always)
  var byteCount: Int { Int(dataCount) }

  @inline(__always)
  func giveBack(to blocks: BlockPool.Handle?) {
    if hasRest { return giveBackWithRest(to: blocks) }
    BlockPool.giveBack(bytes, byteCount, to: blocks)
  }

  @inline(never)
  private func giveBackWithRest(to blocks: BlockPool.Handle?) {
    BlockPool.giveBack(bytes, blockCount, to: blocks)
  }

  // MARK: References

  @inline(__always)
  var hasReferences: Bool { fingerprint & Content.referencesBit != 0 }

  private var referencesStart: UnsafeMutableRawPointer? {
    guard hasReferences, let bytes else { return nil }
    return UnsafeMutableRawPointer(bytes + byteCount + endCount)
  }

  @inline(__always)
  var references: References? { hasReferences ? storedReferences : nil }

  @inline(never)
  private var storedReferences: References? {
    referencesStart.map { References($0.loadUnaligned(as: UnsafeMutableRawPointer.self)) }
  }

  /// Bytes of the references in a reload.
  var referenceBytes: Int { references.map { $0.text.count + ",\"refs\":".utf8.count } ?? 0 }

  /// The item's own data, without the members that its references add, and without its last byte.
  var ownStart: ByteSpan {
    let start = referencesStart
    let own = start.map { ($0 + MemoryLayout<UInt>.size).loadUnaligned(as: UInt32.self) } ?? 0
    return ByteSpan(data.base, max(0, (own == 0 ? data.count : Int(own)) - 1))
  }

  /// Sets the length of the item's own data.
  func setOwnCount(_ own: Int) {
    guard let start = referencesStart else { return }
    (start + MemoryLayout<UInt>.size).storeBytes(of: UInt32(own), as: UInt32.self)
  }

  /// Frees the memory when the feed's state is deallocated.
  func free() {
    if let references, references.endUse() { Glibc.free(references.address) }
    Glibc.free(bytes)
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

  /// Whether another content has the same data, end and references.
  @inline(__always)
  func isSame(as other: Content) -> Bool {
    fingerprint == other.fingerprint && data.hasSameBytes(as: other.data)
      && (!hasRest || hasSameRest(as: other))
  }

  @inline(never)
  private func hasSameRest(as other: Content) -> Bool {
    guard end == other.end else { return false }
    guard let references, let others = other.references else { return !hasReferences }
    return references == others || references.text.hasSameBytes(as: others.text)
  }

  @inline(__always)
  func hasSameData(as other: ByteSpan, fingerprint: UInt32) -> Bool {
    self.fingerprint ^ fingerprint < 4 && data.hasSameBytes(as: other)
  }
}

extension FeedState {
  /// All fields of an item.
  @inline(__always)
  package func fields(item: ElementHandle) -> ElementFields {
    let content = items[item].content
    return ElementFields(
      kind: kind(item),
      data: content.data,
      lifetime: content.end,
      refs: content.references?.text
    )
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
