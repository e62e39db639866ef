/// A changeset as bytes: one value, or several parts.
struct OracleDocument {
  let feed: [UInt8]
  let epoch: String
  let revision: Int
  let base: Int
  let mode: String
  var reason: String?
  let time: Int
  let through: [String: Int]
  let checksum: UInt32
  var units: [OracleUnit] = []

  /// The changeset as one value.
  var unsplit: [UInt8] { value(units[...], part: nil) }

  /// The values to publish, each of at most `maxBytes`.
  ///
  /// Heads contain the number of parts, whose digits need room. The number of digits is the smallest that suffices for
  /// the resulting number of parts.
  func parts(maxBytes: Int) -> [[UInt8]] {
    let whole = unsplit
    if whole.count < maxBytes || whole.count == maxBytes && keeps(.splitIfLonger) { return [whole] }
    for digits in (keeps(.fewestPartDigits) ? 1 : 2)...18 {
      let ends = split(maxBytes: maxBytes, digits: digits)
      guard String(ends.count).count <= digits else { continue }
      var start = 0
      return ends.enumerated().map { number, end in
        defer { start = end }
        return value(units[start..<end], part: (number, ends.count))
      }
    }
    return []
  }

  /// The end of each part, which takes as many units as fit.
  private func split(maxBytes: Int, digits: Int) -> [Int] {
    let parts = (1..<digits).reduce(9) { nines, _ in nines * 10 + 9 }
    var ends: [Int] = []
    var start = 0
    while start < units.count {
      // The size grows with every unit, so a binary search finds the last end that fits.
      var end = start + 1
      var tooFar = units.count + 1
      while tooFar - end > 1 {
        let middle = (end + tooFar) / 2
        let size = value(units[start..<middle], part: (ends.count, parts)).count
        if size <= maxBytes - (keeps(.partsAreFull) ? 0 : 30) { end = middle } else { tooFar = middle }
      }
      ends.append(end)
      start = end
    }
    return ends
  }

  private func value(_ units: ArraySlice<OracleUnit>, part: (Int, Int)?) -> [UInt8] {
    var text = OracleText()
    text.add("{")
    text.addField("feed", string: feed, isFirst: true)
    text.addField("epoch", string: epoch)
    text.addField("revision", number: revision)
    if base > 0 || keeps(.basePresent) { text.addField("base", number: base) }
    if let part {
      text.addField("part", number: part.0)
      text.addField("parts", number: part.1)
    }
    text.addField("mode", string: mode)
    if let reason { text.addField("reason", string: reason) }
    text.addField("time", string: OracleTime.text(milliseconds: time))
    let topics = through.keys.sorted {
      Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) == keeps(.throughSorted)
    }
    let offsets = topics.map { topic in
      var field = OracleText()
      field.addString(topic)
      field.add(":\(through[topic] ?? 0)")
      return field.bytes
    }
    text.add(",\"through\":")
    text.addList(offsets, "{", "}")
    text.addField("checksum", string: OracleChecksum.text(checksum))
    if mode == "reload" { addSections(units, to: &text) } else { addEntries(units, to: &text) }
    text.add("}")
    return text.bytes
  }

  private func addEntries(_ units: ArraySlice<OracleUnit>, to text: inout OracleText) {
    for group in ["sections", "items"] {
      let lists = ["delete", "insert", "move", "reconfigure", "reload"].compactMap { list -> [UInt8]? in
        let entries = units.filter { $0.place == .entry(group: group, list: list) }
        if entries.isEmpty { return nil }
        var field = OracleText()
        field.add("\"\(list)\":")
        field.addList(entries.map(\.bytes))
        return field.bytes
      }
      if lists.isEmpty { continue }
      text.add(",\"\(group)\":")
      text.addList(lists, "{", "}")
    }
  }

  private func addSections(_ units: ArraySlice<OracleUnit>, to text: inout OracleText) {
    var sections: [(head: [UInt8], items: [[UInt8]])] = []
    for unit in units {
      switch unit.place {
      case .section: sections.append((unit.bytes, []))
      case .item(let id):
        if sections.isEmpty {
          var head = OracleText()
          head.addField("id", string: id, isFirst: true)
          if !keeps(.continuedWithoutData) { head.add(",\"data\":null") }
          sections.append((head.bytes, []))
        }
        sections[sections.count - 1].items.append(unit.bytes)
      case .entry: break
      }
    }
    if sections.isEmpty, keeps(.emptyListsLeftOut) { return }
    let objects = sections.map { section in
      var object = OracleText()
      object.add("{")
      object.add(section.head)
      if !section.items.isEmpty || !keeps(.emptyItemsLeftOut) {
        object.add(",\"items\":")
        object.addList(section.items)
      }
      object.add("}")
      return object.bytes
    }
    text.add(",\"sections\":")
    text.addList(objects)
  }
}

/// Builds canonical JSON piece by piece.
struct OracleText {
  private(set) var bytes: [UInt8] = []

  init() {}

  /// Appends text unchanged.
  mutating func add(_ text: String) {
    bytes += Array(text.utf8)
  }

  /// Appends bytes unchanged.
  mutating func add(_ raw: [UInt8]) {
    bytes += raw
  }

  /// Appends a string with these bytes, escaping only what is required.
  mutating func addString(_ decoded: [UInt8]) {
    add("\"")
    for byte in decoded {
      switch byte {
      case UInt8(ascii: "\""): add("\\\"")
      case UInt8(ascii: "\\"): add("\\\\")
      case 0x00..<0x20: add(escape(byte))
      case UInt8(ascii: "/") where !keeps(.fewestEscapes): add("\\/")
      default: bytes.append(byte)
      }
    }
    add("\"")
  }

  private func escape(_ byte: UInt8) -> String {
    let short: [UInt8: String] = [0x08: "\\b", 0x09: "\\t", 0x0A: "\\n", 0x0C: "\\f", 0x0D: "\\r"]
    if let short = short[byte], keeps(.shortEscapes) { return short }
    return "\\u00" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: !keeps(.lowerCaseEscapes))
  }

  mutating func addString(_ text: String) {
    addString(Array(text.utf8))
  }

  /// Appends `"name":` and a string, after a comma unless it is the first field.
  mutating func addField(_ name: String, string: [UInt8], isFirst: Bool = false) {
    add((isFirst ? "" : ",") + "\"\(name)\":")
    addString(string)
  }

  mutating func addField(_ name: String, string: String) {
    addField(name, string: Array(string.utf8))
  }

  mutating func addField(_ name: String, number: Int) {
    add(",\"\(name)\":\(number)")
  }

  mutating func addField(_ name: String, json: [UInt8]) {
    add(",\"\(name)\":")
    add(json)
  }

  /// Appends a section's fields after its id, without its items.
  mutating func addContent(of section: OracleSection) {
    addField("data", json: section.data)
    if let order = section.order, keeps(.orderWritten) { addField("order", json: order.canonical) }
    if let keep = section.keep, keeps(.keepWritten) { addField("keep", number: keep) }
    if let ttl = section.ttl, keeps(.ttlWritten) { addField("ttl", number: ttl) }
  }

  /// Appends an item's fields after its kind.
  mutating func addContent(of item: OracleItem) {
    addField("data", json: item.data)
    if let end = item.expires, keeps(.endWritten) {
      addField("expires", string: OracleTime.text(milliseconds: end))
    }
    if !item.refs.isEmpty, keeps(.referencesWritten) { addField("refs", json: item.refs) }
  }

  /// Appends the elements between brackets or other delimiters.
  mutating func addList(_ elements: [[UInt8]], _ start: String = "[", _ end: String = "]") {
    add(start)
    add(Array(elements.joined(separator: Array(",".utf8))))
    add(end)
  }
}

/// RFC 3339 in UTC with three fractional digits, by counting days.
public enum OracleTime {
  public static func text(milliseconds: Int) -> String {
    let millisecondsADay = 86_400_000
    var days = milliseconds / millisecondsADay
    var rest = milliseconds % millisecondsADay
    if rest < 0 {
      days -= 1
      rest += millisecondsADay
    }
    var year = 1970
    while days < 0 {
      year -= 1
      days += length(ofYear: year)
    }
    while days >= length(ofYear: year) {
      days -= length(ofYear: year)
      year += 1
    }
    var month = 1
    while days >= length(ofMonth: month, year) {
      days -= length(ofMonth: month, year)
      month += 1
    }
    let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(days + 1, 2))"
    let minutes = "\(padded(rest / 3_600_000, 2)):\(padded(rest / 60_000 % 60, 2))"
    let seconds = "\(padded(rest / 1000 % 60, 2)).\(padded(rest % 1000, 3))"
    return "\(date)T\(minutes):\(seconds)Z"
  }

  static func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  private static func isLeap(_ year: Int) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  static func length(ofYear year: Int) -> Int { isLeap(year) ? 366 : 365 }

  static func length(ofMonth month: Int, _ year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}
