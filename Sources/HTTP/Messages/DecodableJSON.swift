import FoundationEssentials

/// JSON in UTF-8. If members of an object have the same name, the last one counts; `JSONDecoder` uses the first.
package struct DecodableJSON {
  /// The first duplicate name in an object, if any.
  package private(set) var repeated: String?
  /// The text, with spaces in place of members that do not count.
  private var bytes: [UInt8]

  /// The positions of an object's members, and the last one of each name.
  private typealias Members = (starts: [Int], numbers: [String: Int])

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
    // Nil for an array.
    var levels: [Members?] = []
    var isName = false
    var position = 0
    // The decoder rejects deeper text.
    while position < bytes.count, levels.count <= 512 {
      let start = position
      position += 1
      switch bytes[start] {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        isName = bytes[start] == UInt8(ascii: "{")
        levels.append(isName ? ([], [:]) : nil)
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        _ = levels.popLast()
        isName = false
      case UInt8(ascii: ","): isName = (levels.last ?? nil) != nil
      case UInt8(ascii: "\""):
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
          position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
        }
        position = min(position + 1, bytes.count)
        if isName { add(bytes[start..<position], to: &levels[levels.count - 1]!) }
        isName = false
      default: break
      }
    }
  }

  /// - Parameter literal: the name with its quotation marks.
  private mutating func add(_ literal: ArraySlice<UInt8>, to members: inout Members) {
    let isEscaped = literal.contains(UInt8(ascii: "\\"))
    let decoded = isEscaped ? try? JSONDecoder().decode(String.self, from: Data(literal)) : nil
    let name = decoded ?? String(decoding: literal.dropFirst().dropLast(), as: UTF8.self)
    let number = members.starts.count
    members.starts.append(literal.startIndex)
    guard let former = members.numbers.updateValue(number, forKey: name) else { return }
    for index in members.starts[former]..<members.starts[former + 1] { bytes[index] = UInt8(ascii: " ") }
    repeated = repeated ?? name
  }

  package func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    // In UTF-16 and UTF-32, which the decoder also accepts, each bracket has zero bytes.
    guard !bytes.contains(0), !bytes.starts(with: [0xEF, 0xBB, 0xBF]),
      String(validating: bytes, as: UTF8.self) != nil
    else {
      let fault = "it must be UTF-8 without a byte order mark"
      throw DecodingError.dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: fault))
    }
    return try JSONDecoder().decode(type, from: Data(bytes))
  }
}
