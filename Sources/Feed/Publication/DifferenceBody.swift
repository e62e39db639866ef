/// The encoded entries of a difference, one after the other, from which one value or several
/// parts are put together.
struct DifferenceBody {
  /// The lists in the order of the document.
  enum List: Int {
    case sectionDelete, sectionInsert, sectionMove, sectionReconfigure, sectionReload
    case itemDelete, itemInsert, itemMove, itemReconfigure, itemReload

    var isOfItems: Bool { rawValue >= List.itemDelete.rawValue }

    var opening: StaticString {
      switch self {
      case .sectionDelete, .itemDelete: "\"delete\":["
      case .sectionInsert, .itemInsert: "\"insert\":["
      case .sectionMove, .itemMove: "\"move\":["
      case .sectionReconfigure, .itemReconfigure: "\"reconfigure\":["
      case .sectionReload, .itemReload: "\"reload\":["
      }
    }
  }

  private static func groupOpening(_ isOfItems: Bool) -> StaticString {
    isOfItems ? ",\"items\":{" : ",\"sections\":{"
  }

  private struct EncodedEntry {
    var list: List
    var end: Int
  }

  private let bytes = ByteWriter()
  private var entries: [EncodedEntry] = []

  // MARK: Encoding

  mutating func encode(_ difference: FeedDifference, of state: FeedState) {
    removeAll()
    encode(difference.sections, isOfItems: false, state)
    encode(difference.items, isOfItems: true, state)
  }

  /// Forgets the entries, and gives back memory beyond the usual.
  mutating func removeAll() {
    bytes.removeAll(keepCapacity: 1 << 20)
    entries.removeAll(keepingCapacity: entries.capacity < 1 << 16)
  }

  private mutating func encode(_ lists: FeedDifference.Entries, isOfItems: Bool, _ state: FeedState) {
    let first = isOfItems ? List.itemDelete.rawValue : List.sectionDelete.rawValue
    func list(_ offset: Int) -> List {
      guard let list = List(rawValue: first + offset) else { preconditionFailure("there are ten lists") }
      return list
    }
    for entry in lists.deletes { encode(entry, list(0), state) }
    for entry in lists.inserts { encode(entry, list(1), state) }
    for entry in lists.moves { encode(entry, list(2), state) }
    for entry in lists.reconfigures { encode(entry, list(3), state) }
    for entry in lists.reloads { encode(entry, list(4), state) }
  }

  private mutating func encode(_ entry: FeedDifference.Entry, _ list: List, _ state: FeedState) {
    let table = list.isOfItems ? state.items : state.sections
    let element = table[entry.handle]
    bytes.append("{\"id\":")
    bytes.append(quoted: table.id(entry.handle))
    switch list {
    case .sectionMove:
      bytes.append(",\"from\":")
      bytes.append(decimal: Int(entry.from))
      bytes.append(",\"to\":")
      bytes.append(decimal: Int(entry.to))
    case .itemMove:
      bytes.append(",\"from\":{\"section\":")
      bytes.append(quoted: state.sections.id(entry.fromSection))
      bytes.append(",\"index\":")
      bytes.append(decimal: Int(entry.from))
      bytes.append("},\"to\":{\"section\":")
      bytes.append(quoted: state.sections.id(entry.toSection))
      bytes.append(",\"index\":")
      bytes.append(decimal: Int(entry.to))
      bytes.append(UInt8(ascii: "}"))
    case .sectionDelete, .itemDelete:
      appendPosition(entry.fromSection, entry.from, list, state)
    case .sectionInsert, .sectionReconfigure, .sectionReload, .itemReconfigure:
      appendPosition(entry.toSection, entry.to, list, state)
      bytes.append(",\"data\":")
      bytes.append(element.data)
    case .itemInsert, .itemReload:
      appendPosition(entry.toSection, entry.to, list, state)
      bytes.append(",\"kind\":")
      bytes.append(quoted: state.kind(entry.handle))
      bytes.append(",\"data\":")
      bytes.append(element.data)
    }
    bytes.append(UInt8(ascii: "}"))
    entries.append(EncodedEntry(list: list, end: bytes.count))
  }

  private func appendPosition(_ section: UInt32, _ index: Int32, _ list: List, _ state: FeedState) {
    if list.isOfItems {
      bytes.append(",\"section\":")
      bytes.append(quoted: state.sections.id(section))
    }
    bytes.append(",\"index\":")
    bytes.append(decimal: Int(index))
  }

  // MARK: Putting together

  private func start(_ entry: Int) -> Int { entry == 0 ? 0 : entries[entry - 1].end }

  /// Bytes that an entry adds to a part after the entry before it in that part, all brackets included.
  private func cost(_ entry: Int, isFirst: Bool) -> Int {
    let list = entries[entry].list
    let length = entries[entry].end - start(entry)
    if !isFirst, entries[entry - 1].list == list { return 1 + length }
    let listCost = list.opening.utf8CodeUnitCount + 1
    if !isFirst, entries[entry - 1].list.isOfItems == list.isOfItems { return 1 + listCost + length }
    return DifferenceBody.groupOpening(list.isOfItems).utf8CodeUnitCount + 1 + listCost + length
  }

  /// Bytes of the lists in one value, brackets included.
  var byteCount: Int {
    entries.indices.reduce(0) { $0 + cost($1, isFirst: $1 == 0) }
  }

  /// How many entries there are, which are more than parts or as many.
  var entryCount: Int { entries.count }

  /// How many values it takes; 1 if it is not split.
  func partCount(headBytes: Int, limit: Int) -> Int {
    guard headBytes + byteCount + 1 > limit else { return 1 }
    return PartPlan.count { partEnds(limit: limit, headBytes: headBytes, countDigits: $0).count }
  }

  /// Where each part ends, greedily.
  private func partEnds(limit: Int, headBytes: Int, countDigits: Int) -> [Int] {
    // With the value's closing brace.
    func partHeadBytes(_ part: Int) -> Int {
      headBytes + 1 + ChangesetHead.partByteCount(number: part, countDigits: countDigits)
    }
    var ends: [Int] = []
    var size = partHeadBytes(0)
    var isFirst = true
    for entry in entries.indices {
      var cost = cost(entry, isFirst: isFirst)
      if !isFirst, size + cost > limit {
        ends.append(entry)
        size = partHeadBytes(ends.count)
        cost = self.cost(entry, isFirst: true)
      }
      size += cost
      isFirst = false
    }
    ends.append(entries.count)
    return ends
  }

  /// Writes the value, or its parts one after the other.
  ///
  /// - Parameters:
  ///   - headBytes: bytes of the head without part fields.
  ///   - limit: the most bytes of one value.
  ///   - isWritten: called after each value with the part's number and where the value starts.
  func write(
    head: ChangesetHead,
    headBytes: Int,
    limit: Int,
    to output: ByteWriter,
    isWritten: (_ part: Int, _ valueStart: Int) -> Void
  ) {
    let count = partCount(headBytes: headBytes, limit: limit)
    guard count > 1 else {
      let start = output.count
      head.write(part: nil, to: output)
      write(entries.indices, to: output)
      output.append(UInt8(ascii: "}"))
      isWritten(0, start)
      return
    }
    var first = 0
    let ends = partEnds(limit: limit, headBytes: headBytes, countDigits: ChangesetHead.digits(count))
    for (part, end) in ends.enumerated() {
      let start = output.count
      head.write(part: (part, count), to: output)
      write(first..<end, to: output)
      output.append(UInt8(ascii: "}"))
      isWritten(part, start)
      first = end
    }
  }

  private func write(_ range: Range<Int>, to output: ByteWriter) {
    var entry = range.lowerBound
    var group: Bool?
    while entry < range.upperBound {
      let list = entries[entry].list
      if group == list.isOfItems {
        output.append(UInt8(ascii: ","))
      } else {
        if group != nil { output.append(UInt8(ascii: "}")) }
        output.append(DifferenceBody.groupOpening(list.isOfItems))
        group = list.isOfItems
      }
      output.append(list.opening)
      let first = entry
      while entry < range.upperBound, entries[entry].list == list {
        if entry > first { output.append(UInt8(ascii: ",")) }
        output.append(bytes.span(start(entry)..<entries[entry].end))
        entry += 1
      }
      output.append(UInt8(ascii: "]"))
    }
    if group != nil { output.append(UInt8(ascii: "}")) }
  }
}
