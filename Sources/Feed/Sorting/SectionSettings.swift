/// The order of a section's items, their limit, and how long they last.
package final class SectionSettings {
  /// The bounds of the protocol, section 2.13.
  package static let bounds = 1...Int64(Int32.max)
  /// Up to a hundred years, in milliseconds: protocol, section 2.15.
  package static let timesToLive = 1...Int64(3_155_760_000_000)

  let order: SectionOrder?
  /// The maximum number of items.
  let keep: NumberField
  /// How long an item lasts after it was written, in milliseconds.
  let ttl: NumberField

  /// The canonical spelling of the order; empty if there is none.
  var orderText: ByteSpan { order?.text.span ?? .empty }

  /// - Parameter order: in its canonical spelling; empty for none.
  init(order: ByteSpan, keep: NumberField, ttl: NumberField) {
    self.order = order.isEmpty ? nil : try? SectionOrder(order)
    self.keep = keep
    self.ttl = ttl
  }

  static func areEqual(_ one: SectionSettings?, _ other: SectionSettings?) -> Bool {
    (one?.orderText ?? .empty).hasSameBytes(as: other?.orderText ?? .empty) && one?.keep == other?.keep
      && one?.ttl == other?.ttl
  }
}

/// The order of a section's items: by one to four values in their data.
package struct SectionOrder {
  package static let maxKeys = 4

  struct Key {
    var pointer: JSONPointer
    /// The pointer, with JSON's escapes resolved.
    var by: [UInt8]
    var isDescending: Bool
  }

  private(set) var keys: [Key] = []
  /// The canonical spelling: `by`, then `direction` if it is descending.
  package private(set) var text = OwnedSpan(.empty)

  /// Why a value is not an order.
  package struct Fault: Error {
    package let problem: String
    /// The wrong value.
    package let value: ByteSpan
  }

  /// - Parameter text: valid JSON without white space.
  package init(_ text: ByteSpan) throws(Fault) {
    var scanner = JSONScanner(text)
    guard text[0] == UInt8(ascii: "[") else { throw Fault(problem: "must be an array of keys", value: text) }
    var at = 1
    while text[at] != UInt8(ascii: "]") {
      let end = scanner.endOfValue(at)
      let key = ByteSpan(text.base + at, end - at)
      if keys.count == Self.maxKeys {
        throw Fault(problem: "must have at most \(Self.maxKeys) keys", value: text)
      }
      keys.append(try Self.key(key))
      at = text[end] == UInt8(ascii: ",") ? end + 1 : end
    }
    if keys.isEmpty { throw Fault(problem: "must have at least one key", value: text) }
    self.text = spelling()
  }

  private static func key(_ text: ByteSpan) throws(Fault) -> Key {
    guard text[0] == UInt8(ascii: "{") else { throw Fault(problem: "must have objects as keys", value: text) }
    var scanner = JSONScanner(text)
    var by: ByteSpan?
    var direction: ByteSpan?
    var at = 1
    while text[at] != UInt8(ascii: "}") {
      let nameEnd = scanner.endOfString(at)
      let end = scanner.endOfValue(nameEnd + 1)
      let name = UnescapedBytes(ByteSpan(text.base + at + 1, nameEnd - at - 2))
      let value = ByteSpan(text.base + nameEnd + 1, end - nameEnd - 1)
      if name.equals(Array("by".utf8)) {
        by = value
      } else if name.equals(Array("direction".utf8)) {
        direction = value
      }
      at = text[end] == UInt8(ascii: ",") ? end + 1 : end
    }
    guard let by else { throw Fault(problem: "must have 'by' in each key", value: text) }
    guard let path = string(by), let pointer = path.withUnsafeBytes({ JSONPointer(ByteSpan($0)) }) else {
      throw Fault(
        problem: "must have a JSON Pointer of at most \(JSONPointer.maxBytes) bytes as 'by'",
        value: by
      )
    }
    var isDescending = false
    if let direction {
      switch string(direction).map({ String(decoding: $0, as: UTF8.self) }) {
      case "ascending": break
      case "descending": isDescending = true
      default:
        throw Fault(problem: "must have \"ascending\" or \"descending\" as 'direction'", value: direction)
      }
    }
    return Key(pointer: pointer, by: path, isDescending: isDescending)
  }

  /// The bytes of a JSON string; nil if the value is not a string.
  private static func string(_ value: ByteSpan) -> [UInt8]? {
    guard value[0] == UInt8(ascii: "\"") else { return nil }
    var bytes = UnescapedBytes(ByteSpan(value.base + 1, value.count - 2))
    var result: [UInt8] = []
    while let byte = bytes.next() { result.append(byte) }
    return result
  }

  private func spelling() -> OwnedSpan {
    let output = ByteWriter()
    for (number, key) in keys.enumerated() {
      output.append(number == 0 ? "[{\"by\":" : ",{\"by\":")
      key.by.withUnsafeBytes { output.append(quoted: ByteSpan($0)) }
      output.append(key.isDescending ? ",\"direction\":\"descending\"}" : "}")
    }
    output.append("]")
    return OwnedSpan(output.written)
  }
}
