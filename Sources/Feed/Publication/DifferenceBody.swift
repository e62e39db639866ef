/// The encoded entries of a difference, from which one value or several parts are composed.
struct DifferenceBody {
  /// A list of the document.
  struct List: Equatable {
    let isOfItems: Bool
    let kind: EntryKind
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
    DifferenceBody.forEachEntry(of: difference) { entry, list in
      var output = bytes
      DifferenceBody.encode(entry, list, state, to: &output)
      entries.append(EncodedEntry(list: list, end: bytes.count))
    }
  }

  /// Writes a difference's lists in one value, brackets included, unless it is longer than a limit.
  ///
  /// - Returns: whether it did; if not, the output is incomplete.
  static func write(
    _ difference: FeedDifference,
    of state: FeedState,
    to output: ByteWriter,
    atMost limit: Int
  ) -> Bool {
    let end = output.count + limit
    return write(difference.sections, isOfItems: false, state, to: output, end)
      && write(difference.items, isOfItems: true, state, to: output, end)
  }

  private static func write(
    _ entries: FeedDifference.Entries,
    isOfItems: Bool,
    _ state: FeedState,
    to output: ByteWriter,
    _ end: Int
  ) -> Bool {
    if entries.isEmpty { return true }
    var sink = output
    var opening = groupOpening(isOfItems)
    for kind in EntryKind.allCases where !entries[kind].isEmpty {
      sink.append(opening)
      opening = ","
      sink.append(opening: kind)
      for (position, entry) in entries[kind].enumerated() {
        if position > 0 { sink.append(UInt8(ascii: ",")) }
        encode(entry, List(isOfItems: isOfItems, kind: kind), state, to: &sink)
        // Bounds the memory for a value that will be split anyway.
        if sink.count > end { return false }
      }
      sink.append(UInt8(ascii: "]"))
    }
    sink.append(UInt8(ascii: "}"))
    return sink.count <= end
  }

  /// Bytes of a difference's lists in one value, brackets included, without encoding it.
  static func byteCount(_ difference: FeedDifference, of state: FeedState) -> Int {
    var counter = ByteCounter()
    var last: List?
    forEachEntry(of: difference) { entry, list in
      if let last, last == list {
        counter.append(UInt8(ascii: ","))
      } else {
        counter.append(opening: list.kind)
        // The list's closing bracket, and the comma or closing brace after it.
        counter.append("],")
        if last?.isOfItems != list.isOfItems { counter.append(groupOpening(list.isOfItems)) }
      }
      last = list
      encode(entry, list, state, to: &counter)
    }
    return counter.count
  }

  /// Removes the entries, and releases memory beyond the usual.
  mutating func removeAll() {
    bytes.removeAll(keepCapacity: 1 << 20)
    entries.removeAll(keepingCapacity: entries.capacity < 1 << 16)
  }

  /// Calls `body` with each entry in the order of the document.
  @inline(__always)
  private static func forEachEntry(
    of difference: FeedDifference,
    _ body: (FeedDifference.Entry, List) -> Void
  ) {
    for isOfItems in [false, true] {
      let entries = isOfItems ? difference.items : difference.sections
      for kind in EntryKind.allCases {
        for entry in entries[kind] { body(entry, List(isOfItems: isOfItems, kind: kind)) }
      }
    }
  }

  @inline(__always)
  private static func encode<Sink: ByteSink>(
    _ entry: FeedDifference.Entry,
    _ list: List,
    _ state: FeedState,
    to output: inout Sink
  ) {
    output.append("{\"id\":")
    output.append(idOf: entry.handle, in: list.isOfItems ? state.items : state.sections)
    switch list.kind {
    case .move where list.isOfItems:
      output.append(",\"from\":{\"section\":")
      output.append(idOf: entry.fromScope.section, in: state.sections)
      output.append(",\"index\":")
      output.append(decimal: Int(entry.from.number))
      output.append("},\"to\":{\"section\":")
      output.append(idOf: entry.toScope.section, in: state.sections)
      output.append(",\"index\":")
      output.append(decimal: Int(entry.to.number))
      output.append(UInt8(ascii: "}"))
    case .move:
      output.append(",\"from\":")
      output.append(decimal: Int(entry.from.number))
      output.append(",\"to\":")
      output.append(decimal: Int(entry.to.number))
    case .delete: appendPosition(entry.fromScope, entry.from, list, state, to: &output)
    case .insert, .reconfigure, .reload:
      appendPosition(entry.toScope, entry.to, list, state, to: &output)
      let fields = list.isOfItems ? state.fields(item: entry.handle) : state.fields(section: entry.handle)
      (list.kind == .reconfigure ? fields.withoutKind : fields).write(to: &output)
    }
    output.append(UInt8(ascii: "}"))
  }

  private static func appendPosition<Sink: ByteSink>(
    _ scope: Scope,
    _ rank: Rank,
    _ list: List,
    _ state: FeedState,
    to output: inout Sink
  ) {
    if list.isOfItems {
      output.append(",\"section\":")
      output.append(idOf: scope.section, in: state.sections)
    }
    output.append(",\"index\":")
    output.append(decimal: Int(rank.number))
  }

  // MARK: Putting together

  private func start(_ entry: Int) -> Int { entry == 0 ? 0 : entries[entry - 1].end }

  /// Bytes that an entry adds to a part after the previous entry, all brackets included.
  private func cost(_ entry: Int, isFirst: Bool) -> Int {
    let list = entries[entry].list
    let length = entries[entry].end - start(entry)
    if !isFirst, entries[entry - 1].list == list { return 1 + length }
    var listOpening = ByteCounter()
    listOpening.append(opening: list.kind)
    let listCost = listOpening.count + 1
    if !isFirst, entries[entry - 1].list.isOfItems == list.isOfItems { return 1 + listCost + length }
    return DifferenceBody.groupOpening(list.isOfItems).utf8CodeUnitCount + 1 + listCost + length
  }

  /// Bytes of the lists in one value, brackets included.
  var byteCount: Int {
    entries.indices.reduce(0) { $0 + cost($1, isFirst: $1 == 0) }
  }

  /// The number of entries, at least the number of parts.
  var entryCount: Int { entries.count }

  /// The number of values; 1 if it is not split.
  func partCount(headBytes: Int, limit: Int) -> Int {
    guard headBytes + byteCount + 1 > limit else { return 1 }
    return PartPlan.count { partEnds(limit: limit, headBytes: headBytes, countDigits: $0).count }
  }

  /// The end of each part, computed greedily.
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
  ///   - limit: the maximum bytes of one value.
  ///   - isWritten: called after each value with the part's number and the value's offset.
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
    let ends = partEnds(limit: limit, headBytes: headBytes, countDigits: ByteWriter.digits(count))
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
    var output = output
    while entry < range.upperBound {
      let list = entries[entry].list
      if group == list.isOfItems {
        output.append(UInt8(ascii: ","))
      } else {
        if group != nil { output.append(UInt8(ascii: "}")) }
        output.append(DifferenceBody.groupOpening(list.isOfItems))
        group = list.isOfItems
      }
      output.append(opening: list.kind)
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

extension ByteSink {
  /// Appends the beginning of a list.
  fileprivate mutating func append(opening kind: EntryKind) {
    append(UInt8(ascii: "\""))
    append(kind.name)
    append("\":[")
  }
}

/// Splits a document that is too large for one record: greedily, in order.
enum PartPlan {
  /// The number of parts, given the result for each number of its digits.
  ///
  /// Each part contains the number of parts, whose digits take room: more digits are tried until they
  /// suffice.
  static func count(_ partsWithCountDigits: (Int) -> Int) -> Int {
    var digits = 1
    while true {
      let count = partsWithCountDigits(digits)
      if ByteWriter.digits(count) <= digits { return count }
      digits += 1
    }
  }
}
