/// Decodes a record's key and value into events, and checks their form and limits.
///
/// A decoder is reused for many records, with its lists and its arena. Its results are valid until the next record, and
/// no longer than the record's bytes.
public final class RecordDecoder {
  let limits: Limits
  private let indexer: JSONIndexer
  /// The latest record's value, or the text that contains it. Owned by the indexer; here, because reading it
  /// from there counts references for every record.
  let text: JSONText
  let arena = ScratchArena()

  /// The latest record's events, in order.
  @exclusivity(unchecked) var events = EventList()
  /// The number of events in the latest record.
  public var eventCount: Int { events.count }
  /// The elements of the events' `items` lists.
  @exclusivity(unchecked) var items: [ListedItem] = []
  /// The elements of the events' `sections` lists.
  @exclusivity(unchecked) var sections: [ListedSection] = []
  /// The conditions of its events, in order.
  @exclusivity(unchecked) var conditions: [Condition] = []
  /// Whether the latest record has conditions.
  @exclusivity(unchecked) package internal(set) var hasConditions = false
  /// Whether an event of the latest record had lists or conditions, which are cleared before the next record.
  @exclusivity(unchecked) var hasLists = false
  /// The longest lists that can be accepted: the limit, or the feed's size if that is more.
  @exclusivity(unchecked) private(set) var longestItemList = 0
  @exclusivity(unchecked) private(set) var longestSectionList = 0
  /// The index of the event's first listed item in `items`.
  @exclusivity(unchecked) private var listStart = 0
  /// Whether an event since the latest lists had ends.
  @exclusivity(unchecked) var hasEnds = false
  /// Items that applied records wrote although their end had come, and deleted, since these were last taken.
  @exclusivity(unchecked) var endedItems = 0
  /// Items that the latest record wrote although their end had come, until they are deleted.
  @exclusivity(unchecked) var pastItems: [ElementHandle] = []
  /// When the latest record was taken.
  @exclusivity(unchecked) var taken = Int64.min
  /// The same as a time that items may have: those whose end is not later have ended.
  var now: Int64 { TimestampFormat.nearest(taken) }
  /// Bytes of the latest record's value.
  @exclusivity(unchecked) private(set) var valueBytes = 0
  /// Whether the value was an array, so that messages name the event's number.
  @exclusivity(unchecked) var isArray = false

  /// For `item.patch`, which is applied once the item's data is known.
  @exclusivity(unchecked) var mergePatch = MergePatch()
  let patchOutput = ByteWriter()
  let referenceOutput = ByteWriter(capacity: 64)
  /// Whether items may have references. If not, `refs` is a field without effect.
  package let takesReferences: Bool
  /// Whether an item of the latest record has references.
  @exclusivity(unchecked) var hasReferences = false
  /// The references of listed items, by their positions in `items`.
  @exclusivity(unchecked) var listedReferences: [Int: ByteSpan] = [:]

  /// The fields without effect in all records so far, including rejected ones.
  @exclusivity(unchecked) package internal(set) var ignored = IgnoredFields()

  @exclusivity(unchecked) private(set) var itemIDs = HashIndex()
  @exclusivity(unchecked) private var sectionIDs = HashIndex()

  /// - Parameters:
  ///   - takesReferences: whether items may have references.
  ///   - indexer: used by this decoder only.
  public init(limits: Limits, takesReferences: Bool = false, indexer: JSONIndexer = JSONIndexer()) {
    self.limits = limits
    self.takesReferences = takesReferences
    self.indexer = indexer
    text = indexer.text
    expect(itemCount: 0, sectionCount: 0)
  }

  /// Sets the size of the next record's feed.
  @inline(__always)
  func expect(itemCount: Int, sectionCount: Int) {
    longestItemList = max(limits.maxItems, itemCount)
    longestSectionList = max(limits.maxSections, sectionCount)
  }

  /// Decodes a record.
  ///
  /// - Parameters:
  ///   - key: the feed id; nil for a null key.
  ///   - value: one event or an array of events; nil for a Kafka null, which deletes the feed.
  /// - Throws: the first `Rejection` in the protocol's order.
  public func decode(key: ByteSpan?, value: ByteSpan?) throws(Rejection) {
    guard let value else {
      try check(key: key)
      events.append { $0.initialize(to: Event(operation: .feedDelete)) }
      return
    }
    defer { trim(after: value) }
    let field = try index(key: key, value)
    try decodeEvents(from: field.first, to: field.end)
  }

  /// Releases memory after a long value was decoded.
  @inline(__always)
  func trim(after value: ByteSpan) { if value.count > 4 << 20 { indexer.trim() } }

  /// Checks the key of a record whose value is null.
  func check(key: ByteSpan?) throws(Rejection) { try checkSizes(key: try begin(key), valueCount: 0) }

  /// Checks a record's key, and its value as JSON of any kind. Call ``trim(after:)`` afterwards.
  @inline(__always)
  func index(key: ByteSpan?, _ value: ByteSpan) throws(Rejection) -> JSONText.Field {
    let key = try begin(key)
    guard value.count <= limits.maxRecordBytes else {
      // Too long to index; but bytes that are not UTF-8 are reported first.
      guard JSONIndexer.isUTF8(value) else { throw RecordDecoder.notUTF8("value", value) }
      throw sizeFault(key: key, valueCount: value.count)
    }
    do throws(JSONFault) {
      try indexer.index(value)
    } catch {
      if error.reason == .invalidUTF8 { throw RecordDecoder.notUTF8("value", value) }
      try checkSizes(key: key, valueCount: value.count)
      throw RecordDecoder.notJSON(error, value)
    }
    try checkSizes(key: key, valueCount: value.count)
    if text.hasEscapes, let fault = text.unpairedSurrogate(from: 0, to: text.offsetCount) {
      throw RecordDecoder.notJSON(fault, value)
    }
    try checkDepth(text.depth)
    return (0, text.offsetCount)
  }

  /// Decodes a record whose value is part of a longer text that was validated as a whole.
  public func decode(
    key: ByteSpan?,
    valueIn whole: JSONText,
    from first: Int,
    to end: Int
  ) throws(Rejection) {
    try index(key: key, valueIn: whole, from: first, to: end)
    try decodeEvents(from: first, to: end)
  }

  /// Checks a record whose value is part of a longer text.
  @inline(__always)
  func index(key: ByteSpan?, valueIn whole: JSONText, from first: Int, to end: Int) throws(Rejection) {
    let key = try begin(key)
    text.describe(whole.bytes, structuredAs: whole)
    let value = text.span(from: first, to: end)
    try checkSizes(key: key, valueCount: value.count)
    if let fault = text.unpairedSurrogate(from: first, to: end) {
      let start = text.bytes.base.distance(to: value.base)
      throw RecordDecoder.notJSON(JSONFault(fault.reason, at: fault.offset - start), value)
    }
    // The value is not nested deeper than the text that contains it.
    if text.depth > limits.maxDepth { try checkDepth(text.depth(from: first, to: end)) }
  }

  @inline(never)
  package static func notUTF8(_ name: StaticString, _ bytes: ByteSpan) -> Rejection {
    Rejection(.invalidUTF8, "the \(name) is not UTF-8 at byte \(bytes.invalidUTF8Offset)")
  }

  @inline(never)
  package static func notJSON(_ fault: JSONFault, _ value: ByteSpan) -> Rejection {
    let hasMark = value.buffer.starts(with: "\u{FEFF}".utf8)
    let problem = hasMark ? "it begins with a byte order mark" : fault.explanation
    return Rejection(.invalidJSON, "the value is not JSON: \(problem)")
  }

  /// Discards the latest record.
  ///
  /// - Returns: the key of the next one.
  @inline(__always)
  private func begin(_ key: ByteSpan?) throws(Rejection) -> ByteSpan {
    events.removeAll()
    if hasLists { forgetLists() }
    arena.reset()
    isArray = false
    valueBytes = 0
    guard let key, !key.isEmpty else {
      throw Rejection(.missingKey, "the record has no key; the key is the feed id")
    }
    guard key.isShortASCII || JSONIndexer.isUTF8(key) else { throw RecordDecoder.notUTF8("key", key) }
    return key
  }

  @inline(never)
  private func forgetLists() {
    (hasLists, hasEnds) = (false, false)
    if hasConditions { conditions.removeAll() }
    hasConditions = false
    if hasReferences { listedReferences = [:] }
    hasReferences = false
    if !items.isEmpty { items.removeAll(keepingCapacity: items.capacity <= 1 << 16) }
    if !sections.isEmpty { sections.removeAll(keepingCapacity: sections.capacity <= 1 << 16) }
    if itemIDs.isLarge { itemIDs = HashIndex() }
    if sectionIDs.isLarge { sectionIDs = HashIndex() }
  }

  @inline(__always)
  private func checkSizes(key: ByteSpan, valueCount: Int) throws(Rejection) {
    valueBytes = valueCount
    if key.count + valueCount > limits.maxRecordBytes || key.count > limits.maxIdBytes {
      throw sizeFault(key: key, valueCount: valueCount)
    }
  }

  @inline(never)
  private func sizeFault(key: ByteSpan, valueCount: Int) -> Rejection {
    guard key.count + valueCount <= limits.maxRecordBytes else {
      return Rejection(
        .limitExceeded,
        "the record has \(key.count + valueCount) bytes, more than limits.maxRecordBytes (\(limits.maxRecordBytes))"
      )
    }
    return Rejection(
      .limitExceeded,
      "the key \(key.quotedForMessage()) has \(key.count) bytes, more than limits.maxIdBytes (\(limits.maxIdBytes))"
    )
  }

  @inline(__always)
  private func checkDepth(_ depth: Int) throws(Rejection) {
    if depth > limits.maxDepth { throw depthFault(depth) }
  }

  @inline(never)
  private func depthFault(_ depth: Int) -> Rejection {
    Rejection(
      .limitExceeded,
      "the value is nested \(depth) deep, more than limits.maxDepth (\(limits.maxDepth))"
    )
  }

  @inline(__always)
  private func decodeEvents(from first: Int, to end: Int) throws(Rejection) {
    if text.character(first) == UInt8(ascii: "{") {
      try decodeEvent(at: first)
    } else {
      try decodeEventList((first, end))
    }
  }

  @inline(never)
  private func decodeEventList(_ list: JSONText.Field) throws(Rejection) {
    guard text.character(list.first) == UInt8(ascii: "[") else {
      throw Rejection(
        .invalidField,
        "the value is neither an event (an object) nor an array of events, found "
          + text.span(of: list).valueForMessage()
      )
    }
    isArray = true
    let count = elementCount(of: list, ifMoreThan: limits.maxEvents)
    guard count <= limits.maxEvents else {
      throw Rejection(
        .limitExceeded,
        "the record has \(count) events, more than limits.maxEvents (\(limits.maxEvents))"
      )
    }
    try text.forEachElement(of: list.first) { event throws(Rejection) in
      let number = events.count
      guard text.character(event.first) == UInt8(ascii: "{") else {
        let found = text.span(of: event).valueForMessage()
        throw Rejection(.invalidField, "event \(number) is not an object, found \(found)")
      }
      do throws(Rejection) {
        try decodeEvent(at: event.first)
      } catch {
        throw error.inEvent(number)
      }
    }
  }

  private func decodeEvent(at object: Int) throws(Rejection) {
    var fields = EventFields(in: .event)
    fields.read(object, in: text, arena)
    try events.append { event throws(Rejection) in
      let operation = try operation(fields)
      try read(fields, operation, to: event)
      let isUnread = fields.names.contains(.refs) && !takesReferences
      if isUnread || !operation.fieldNames.isSuperset(of: fields.names) {
        countIgnored(operation, at: object)
      }
    }
    if fields.names.contains(.if) { try readCondition(fields[.if]) }
  }

  /// Takes the number of items that had ended when records wrote them.
  public func takeEndedItems() -> Int {
    defer { endedItems = 0 }
    return endedItems
  }

  // MARK: Lengths of lists

  /// The number of elements of an array; exact if it is more than `bound`.
  private func elementCount(of array: JSONText.Field, ifMoreThan bound: Int) -> Int {
    // Each element takes at least a token, and a comma.
    guard (array.end - array.first - 1) / 2 > bound else { return 0 }
    var count = 0
    text.forEachElement(of: array.first) { _ in count += 1 }
    return count
  }

  /// Rejects a list of items that is too long together with the event's earlier ones, without reading it.
  func checkItemCount(of list: EventField) throws(Rejection) {
    let listed = items.count - listStart
    let count = listed + elementCount(of: list.value, ifMoreThan: longestItemList - listed)
    guard count > longestItemList else { return }
    let problem = "brings the list to \(count) items, more than limits.maxItems (\(limits.maxItems))"
    throw Rejection(.limitExceeded, field: list.path, problem)
  }

  /// Rejects a list of sections that is too long, without reading it.
  func checkSectionCount(of list: EventField) throws(Rejection) {
    let count = elementCount(of: list.value, ifMoreThan: longestSectionList)
    guard count > longestSectionList else { return }
    let problem = "lists \(count) sections, more than limits.maxSections (\(limits.maxSections))"
    throw Rejection(.limitExceeded, field: list.path, problem)
  }

  // MARK: Duplicate identifiers

  func beginItemList() {
    hasLists = true
    listStart = items.count
    itemIDs.removeAll()
  }
  func beginSectionList() {
    hasLists = true
    sectionIDs.removeAll()
  }

  @inline(__always)
  func isListed(item id: ByteSpan, _ hash: UInt32) -> Bool {
    items.withUnsafeBufferPointer { items in
      itemIDs.find(id, hash) { items[Int($0)].id } != nil
    }
  }

  func isListed(section id: ByteSpan, _ hash: UInt32) -> Bool {
    sections.withUnsafeBufferPointer { sections in
      sectionIDs.find(id, hash) { sections[Int($0)].id } != nil
    }
  }

  /// Adds a listed item that is not in the list yet.
  func append(_ item: ListedItem) {
    itemIDs.insert(item.id, item.hash, UInt32(items.count)) { items[Int($0)].id }
    items.append(item)
  }

  /// Adds a listed section that is not in the list yet.
  func append(_ section: ListedSection) {
    sectionIDs.insert(section.id, section.hash, UInt32(sections.count)) { sections[Int($0)].id }
    sections.append(section)
  }
}
