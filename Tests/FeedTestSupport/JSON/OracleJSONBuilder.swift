/// Builds the tree of a document that is known to be valid, minified and not too deep.
struct OracleJSONBuilder {
  private let bytes: [UInt8]
  private var at = 0

  init(minified: [UInt8]) {
    bytes = minified
  }

  mutating func value() -> OracleJSON {
    let start = at
    let content: OracleJSON.Content
    var depth = 0
    switch bytes[at] {
    case UInt8(ascii: "["):
      let elements = array()
      depth = 1 + (elements.map(\.depth).max() ?? 0)
      content = .array(elements)
    case UInt8(ascii: "{"):
      let members = object()
      depth = 1 + (members.map(\.value.depth).max() ?? 0)
      content = .object(members)
    case UInt8(ascii: "\""):
      content = .string(string().decoded)
    case UInt8(ascii: "n"):
      at += 4
      content = .null
    case UInt8(ascii: "t"):
      at += 4
      content = .boolean(true)
    case UInt8(ascii: "f"):
      at += 5
      content = .boolean(false)
    default:
      while at < bytes.count, !Array(",]}".utf8).contains(bytes[at]) { at += 1 }
      content = .number
    }
    return OracleJSON(content: content, minified: Array(bytes[start..<at]), depth: depth)
  }

  private mutating func array() -> [OracleJSON] {
    var elements: [OracleJSON] = []
    at += 1
    while bytes[at] != UInt8(ascii: "]") {
      elements.append(value())
      if bytes[at] == UInt8(ascii: ",") { at += 1 }
    }
    at += 1
    return elements
  }

  private mutating func object() -> [OracleJSONMember] {
    var members: [OracleJSONMember] = []
    at += 1
    while bytes[at] != UInt8(ascii: "}") {
      let name = string()
      at += 1
      members.append(OracleJSONMember(rawName: name.raw, name: name.decoded, value: value()))
      if bytes[at] == UInt8(ascii: ",") { at += 1 }
    }
    at += 1
    return members
  }

  private mutating func string() -> (raw: [UInt8], decoded: [UInt8]) {
    let start = at
    var decoded: [UInt8] = []
    at += 1
    while bytes[at] != UInt8(ascii: "\"") {
      if bytes[at] == UInt8(ascii: "\\") {
        decoded += escape()
      } else {
        decoded.append(bytes[at])
        at += 1
      }
    }
    at += 1
    return (Array(bytes[start..<at]), decoded)
  }

  private mutating func escape() -> [UInt8] {
    let letter = bytes[at + 1]
    at += 2
    switch letter {
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0C]
    case UInt8(ascii: "n"): return [0x0A]
    case UInt8(ascii: "r"): return [0x0D]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "u"):
      let unit = hexadecimal()
      guard (0xD800...0xDBFF).contains(unit) else { return OracleUTF8.encode(unit) }
      at += 2
      return OracleUTF8.encode(0x10000 + (unit - 0xD800) << 10 + (hexadecimal() - 0xDC00))
    default: return [letter]
    }
  }

  private mutating func hexadecimal() -> UInt32 {
    defer { at += 4 }
    return bytes[at..<at + 4].reduce(0) { sum, byte in
      sum * 16 + UInt32(Character(UnicodeScalar(byte)).hexDigitValue ?? 0)
    }
  }
}
