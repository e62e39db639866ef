import Glibc

/// The fields of an element other than its id and its place: an item has a kind and data, and may have references;
/// a section has data, and may have an order and a bound.
///
/// Only this file defines the fields and their spelling in changesets. A nil field keeps the element's value.
package struct ElementFields {
  /// Items only.
  package var kind: ByteSpan?
  package var data: ByteSpan?
  /// A section's order, or an item's references: one property, because fields are passed by value on the hot path.
  private var setting: ByteSpan?
  /// Sections only: the maximum number of items, in digits; empty for none.
  package var keep: ByteSpan?

  package init(
    kind: ByteSpan? = nil,
    data: ByteSpan? = nil,
    order: ByteSpan? = nil,
    keep: ByteSpan? = nil,
    refs: ByteSpan? = nil
  ) {
    self.kind = kind
    self.data = data
    setting = order ?? refs
    self.keep = keep
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
  static var ofNewItem: ElementFields { ElementFields(kind: .empty, data: FeedState.null, refs: .empty) }
  /// The default fields of a section.
  static var ofNewSection: ElementFields {
    ElementFields(data: FeedState.null, order: .empty, keep: .empty)
  }

  @inline(__always)
  package var isEmpty: Bool { kind == nil && data == nil && setting == nil && keep == nil }

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
      keep: keep ?? other.keep
    )
  }

  /// These fields without the kind.
  var withoutKind: ElementFields {
    var fields = self
    fields.kind = nil
    return fields
  }

  /// These fields for an element with data: absent references, order and limit mean none.
  @inline(__always)
  func ofWhole(isItem: Bool) -> ElementFields {
    if data == nil { return self }
    guard isItem else { return filled(from: .ofNewSection) }
    var fields = self
    fields.setting = setting ?? .empty
    return fields
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
    if let setting, !setting.isEmpty { ElementFields.write(setting, to: &output) }
    if let keep, !keep.isEmpty {
      output.append(",\"keep\":")
      output.append(keep)
    }
  }

  @inline(never)
  private static func write<Sink: ByteSink>(_ setting: ByteSpan, to output: inout Sink) {
    output.append(setting[0] == UInt8(ascii: "{") ? ",\"refs\":" : ",\"order\":")
    output.append(setting)
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
      let digits = record.data(field)
      keep = SectionSettings.bound(digits) == nil ? .empty : digits
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
    let isReferences = [setting, expected.setting].contains {
      $0?.isEmpty == false && $0?[0] == UInt8(ascii: "{")
    }
    let settingName = isReferences ? "refs" : "order"
    for (name, found, expected) in [(settingName, setting, expected.setting), ("keep", keep, expected.keep)] {
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
    if !isItem { fields = fields.ofWhole(isItem: false) }
  }
}

/// The stored fields of an element: data, and an item's kind and references. The owner of the content owns its
/// bytes, one use of its kind and one of its references, and releases them with `FeedState.release`.
struct Content {
  /// The data in a separate block; nil before the first content is set. If the item has references, their
  /// address follows, and the length of the item's own data, which is 0 if it is not known.
  private(set) var bytes: UnsafeMutablePointer<UInt8>?
  private var dataCount: UInt32 = 0
  /// Distinguishes most data without reading the old bytes, which are in no cache. The highest bit is whether there are
  /// references.
  private(set) var fingerprint: UInt32 = 0
  /// The number of an item's kind in the feed's `KindTable`; for a section, the empty kind's.
  private(set) var kind = KindTable.empty

  private static let referencesBit = ~DataFingerprint.bits
  private static let trailerCount = MemoryLayout<UInt>.size + MemoryLayout<UInt32>.size

  /// No content.
  init() {}

  /// A copy of data.
  ///
  /// - Parameters:
  ///   - references: an item's, of which the content takes over one use.
  ///   - ownCount: the length of its own data.
  ///   - kind: its number; the content takes over one use.
  ///   - blocks: the source of the memory; nil for the allocator.
  @inline(__always)
  init(
    copying data: ByteSpan,
    _ references: References? = nil,
    ownCount: Int = 0,
    fingerprint: UInt32,
    kind: UInt32,
    blocks: BlockPool.Handle?
  ) {
    let trailerCount = references == nil ? 0 : Content.trailerCount
    let block = BlockPool.block(data.count + trailerCount, from: blocks)
    memcpy(block, data.base, data.count)
    bytes = block
    dataCount = UInt32(data.count)
    self.fingerprint = fingerprint
    self.kind = kind
    guard let references else { return }
    let trailer = UnsafeMutableRawPointer(block + data.count)
    trailer.storeBytes(of: references.address, as: UnsafeMutableRawPointer.self)
    self.fingerprint |= Content.referencesBit
    setOwnCount(ownCount)
  }

  private var blockCount: Int { byteCount + (hasReferences ? Content.trailerCount : 0) }

  @inline(__always)
  var data: ByteSpan { bytes.map { ByteSpan(UnsafePointer($0), byteCount) } ?? .empty }

  /// Whether the content was set.
  var isSet: Bool { bytes != nil }

  /// All fields except kind and references.
  @inline(__always)
  var fields: ElementFields { ElementFields(data: data) }

  /// Bytes that vary between contents, without kind and references.
  @inline(__always)
  var byteCount: Int { Int(dataCount) }

  func giveBack(to blocks: BlockPool.Handle?) { BlockPool.giveBack(bytes, blockCount, to: blocks) }

  // MARK: References

  @inline(__always)
  var hasReferences: Bool { fingerprint & Content.referencesBit != 0 }

  @inline(__always)
  var references: References? {
    guard hasReferences, let bytes else { return nil }
    return References(UnsafeRawPointer(bytes + byteCount).loadUnaligned(as: UnsafeMutableRawPointer.self))
  }

  /// The references in their spelling in changesets; nil for none.
  @inline(never)
  var referenceText: ByteSpan? { references?.text }

  /// Bytes of the references in a reload.
  var referenceBytes: Int { references.map { $0.text.count + ",\"refs\":".utf8.count } ?? 0 }

  /// The item's own data, without the members that its references add, and without its last byte.
  var ownStart: ByteSpan {
    let data = data
    guard hasReferences, let bytes else { return ByteSpan(data.base, max(0, data.count - 1)) }
    let end = UnsafeRawPointer(bytes + byteCount + MemoryLayout<UInt>.size).loadUnaligned(as: UInt32.self)
    return ByteSpan(data.base, max(0, (end == 0 ? data.count : Int(end)) - 1))
  }

  /// Sets the length of the item's own data.
  mutating func setOwnCount(_ own: Int) {
    guard hasReferences, let bytes else { return }
    let place = UnsafeMutableRawPointer(bytes + byteCount + MemoryLayout<UInt>.size)
    place.storeBytes(of: UInt32(own), as: UInt32.self)
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
  }

  /// Whether data and references are the same.
  func hasSameData(as other: Content) -> Bool {
    hasSameData(as: other.data, fingerprint: other.fingerprint)
      && (!hasReferences || hasSameReferences(as: other))
  }

  @inline(never)
  private func hasSameReferences(as other: Content) -> Bool {
    guard let references, let others = other.references else { return false }
    return references == others || references.text.hasSameBytes(as: others.text)
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
    let content = items[item].content
    return ElementFields(
      kind: kind(item),
      data: content.data,
      refs: content.hasReferences ? content.referenceText : nil
    )
  }

  /// All fields of a section.
  @inline(__always)
  package func fields(section: ElementHandle) -> ElementFields {
    var fields = sections[section].content.fields
    let settings = list(.items(of: section)).pointee.settings
    fields.order = settings?.orderText ?? .empty
    fields.keep = settings?.keepText ?? .empty
    return fields
  }
}
