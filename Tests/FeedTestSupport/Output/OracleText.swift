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

  /// Appends the elements between brackets or other delimiters.
  mutating func addList(_ elements: [[UInt8]], _ start: String = "[", _ end: String = "]") {
    add(start)
    add(Array(elements.joined(separator: Array(",".utf8))))
    add(end)
  }
}
