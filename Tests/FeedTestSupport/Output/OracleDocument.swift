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
