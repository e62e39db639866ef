/// A part of a JSON text, parsed as far as it is asked for: values keep their place in the text, and so their spelling.
///
/// A parser of its own because Foundation's loses what the protocol keeps: `1.0` becomes `1`, and of names that occur twice one is
/// lost at random.
struct JSONText: Sendable {
  enum Kind { case object, array, string, number, word }

  let bytes: [UInt8]
  let range: Range<Int>
  let kind: Kind

  /// Checks a whole text, however deep it is nested.
  init(checking bytes: [UInt8]) throws {
    var scanner = JSONScanner(bytes)
    scanner.skipSpace()
    let start = scanner.at
    try scanner.skipValue()
    let end = scanner.at
    scanner.skipSpace()
    guard scanner.at == bytes.count else { throw JSONFault.unexpected(at: scanner.at) }
    self.init(bytes: bytes, range: start..<end)
  }

  init(checking text: String) throws { try self.init(checking: Array(text.utf8)) }

  private init(bytes: [UInt8], range: Range<Int>) {
    self.bytes = bytes
    self.range = range
    kind =
      switch bytes[range.lowerBound] {
      case UInt8(ascii: "{"): .object
      case UInt8(ascii: "["): .array
      case UInt8(ascii: "\""): .string
      case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): .word
      default: .number
      }
  }

  /// As it is spelled.
  var text: String { String(decoding: bytes[range], as: UTF8.self) }

  /// As it is spelled, without white space between tokens.
  var compactText: String {
    guard kind == .object || kind == .array else { return text }
    var result: [UInt8] = []
    result.reserveCapacity(range.count)
    var at = range.lowerBound
    while at < range.upperBound {
      switch bytes[at] {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): at += 1
      case UInt8(ascii: "\""):
        let end = JSONScanner.endOfString(bytes, at)
        result += bytes[at..<end]
        at = end
      default:
        result.append(bytes[at])
        at += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  var isNull: Bool { bytes[range.lowerBound] == UInt8(ascii: "n") }

  /// The members of an object, in their order; nil for anything else.
  var members: [(name: JSONText, value: JSONText)]? {
    guard kind == .object else { return nil }
    var found: [(name: JSONText, value: JSONText)] = []
    var scanner = JSONScanner(bytes, at: range.lowerBound + 1)
    while scanner.goToElement(before: UInt8(ascii: "}")) {
      let name = scanner.next(self)
      _ = scanner.goToElement(before: UInt8(ascii: "}"))
      found.append((name, scanner.next(self)))
    }
    return found
  }

  /// The elements of an array; nil for anything else.
  var elements: [JSONText]? {
    guard kind == .array else { return nil }
    var found: [JSONText] = []
    var scanner = JSONScanner(bytes, at: range.lowerBound + 1)
    while scanner.goToElement(before: UInt8(ascii: "]")) { found.append(scanner.next(self)) }
    return found
  }

  /// The text that a string means; nil for anything else.
  var string: String? {
    guard kind == .string else { return nil }
    let inside = bytes[(range.lowerBound + 1)..<(range.upperBound - 1)]
    guard inside.contains(UInt8(ascii: "\\")) else { return String(decoding: inside, as: UTF8.self) }
    return JSONScanner.unescaped(inside)
  }

  /// An integer from 0 to 2⁵³ − 1, of digits only; nil for anything else.
  var count: Int? {
    guard kind == .number, range.count <= 16, bytes[range.lowerBound] != UInt8(ascii: "-") else { return nil }
    var number = 0
    for byte in bytes[range] {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      number = number * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return number < 1 << 53 ? number : nil
  }

  fileprivate func part(_ range: Range<Int>) -> JSONText { JSONText(bytes: bytes, range: range) }
}

/// An object's members by name, the last of each.
struct JSONObject {
  // Names of the protocol are ASCII; others are never asked for.
  private let members: [String: JSONText]

  init?(_ text: JSONText?) {
    guard let found = text?.members else { return nil }
    var members: [String: JSONText] = [:]
    for (name, value) in found { members[name.string ?? ""] = value }
    self.members = members
  }

  subscript(name: String) -> JSONText? { members[name] }
}

enum JSONFault: Error, CustomStringConvertible {
  case unexpected(at: Int)

  var description: String {
    switch self {
    case .unexpected(let place): "not JSON at byte \(place)"
    }
  }
}

private struct JSONScanner {
  let bytes: [UInt8]
  var at: Int

  init(_ bytes: [UInt8], at: Int = 0) {
    self.bytes = bytes
    self.at = at
  }

  private var byte: UInt8? { at < bytes.count ? bytes[at] : nil }

  mutating func skipSpace() {
    while let byte, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { at += 1 }
  }

  // In a text that was checked.

  /// Goes to the next element of an array or to the next name or value of an object; false at its end.
  mutating func goToElement(before end: UInt8) -> Bool {
    skipSpace()
    while byte == UInt8(ascii: ",") || byte == UInt8(ascii: ":") {
      at += 1
      skipSpace()
    }
    return byte != end
  }

  mutating func next(_ whole: JSONText) -> JSONText {
    let start = at
    var depth = 0
    repeat {
      switch bytes[at] {
      case UInt8(ascii: "\""): at = Self.endOfString(bytes, at)
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        at += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        at += 1
      default:
        at += 1
        if depth == 0 { skipWord() }
      }
    } while depth > 0
    return whole.part(start..<at)
  }

  private mutating func skipWord() {
    while let byte,
      !(byte <= 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]"))
    { at += 1 }
  }

  static func endOfString(_ bytes: [UInt8], _ start: Int) -> Int {
    var at = start + 1
    while bytes[at] != UInt8(ascii: "\"") { at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1 }
    return at + 1
  }

  static func unescaped(_ inside: ArraySlice<UInt8>) -> String {
    var units: [UInt8] = []
    var at = inside.startIndex
    func unit(_ at: Int) -> UInt16 {
      UInt16(String(decoding: inside[at..<(at + 4)], as: UTF8.self), radix: 16) ?? 0xfffd
    }
    while at < inside.endIndex {
      guard inside[at] == UInt8(ascii: "\\") else {
        units.append(inside[at])
        at += 1
        continue
      }
      let escape = inside[at + 1]
      at += 2
      switch escape {
      case UInt8(ascii: "b"): units.append(0x08)
      case UInt8(ascii: "f"): units.append(0x0c)
      case UInt8(ascii: "n"): units.append(0x0a)
      case UInt8(ascii: "r"): units.append(0x0d)
      case UInt8(ascii: "t"): units.append(0x09)
      case UInt8(ascii: "u"):
        var wide = [unit(at)]
        at += 4
        if UTF16.isLeadSurrogate(wide[0]), at + 6 <= inside.endIndex, inside[at] == UInt8(ascii: "\\"),
          inside[at + 1] == UInt8(ascii: "u"), UTF16.isTrailSurrogate(unit(at + 2))
        {
          wide.append(unit(at + 2))
          at += 6
        }
        units += Array(String(decoding: wide, as: UTF16.self).utf8)
      default: units.append(escape)
      }
    }
    return String(decoding: units, as: UTF8.self)
  }

  // In any bytes.

  /// Checks a value without recursion.
  mutating func skipValue() throws {
    // Whether each container around the place is an object.
    var isObject: [Bool] = []
    while true {
      skipSpace()
      guard let first = byte else { throw JSONFault.unexpected(at: at) }
      var isComplete = true
      switch first {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        at += 1
        skipSpace()
        if byte == first + 2 {
          at += 1
        } else {
          isObject.append(first == UInt8(ascii: "{"))
          isComplete = false
          if first == UInt8(ascii: "{") { try skipName() }
        }
      case UInt8(ascii: "\""): try skipString()
      case UInt8(ascii: "t"): try skip("true")
      case UInt8(ascii: "f"): try skip("false")
      case UInt8(ascii: "n"): try skip("null")
      default: try skipNumber()
      }
      guard isComplete else { continue }
      // Leaves the containers that end here.
      while let isInObject = isObject.last {
        skipSpace()
        if byte == UInt8(ascii: ",") {
          at += 1
          if isInObject { try skipName() }
          break
        }
        guard byte == (isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
          throw JSONFault.unexpected(at: at)
        }
        at += 1
        isObject.removeLast()
      }
      if isObject.isEmpty { return }
    }
  }

  private mutating func skipName() throws {
    skipSpace()
    try skipString()
    skipSpace()
    try skip(":")
  }

  private mutating func skip(_ text: StaticString) throws {
    for offset in 0..<text.utf8CodeUnitCount {
      guard byte == text.utf8Start[offset] else { throw JSONFault.unexpected(at: at) }
      at += 1
    }
  }

  private mutating func skipString() throws {
    guard byte == UInt8(ascii: "\"") else { throw JSONFault.unexpected(at: at) }
    at += 1
    while true {
      guard let found = byte, found >= 0x20 else { throw JSONFault.unexpected(at: at) }
      at += 1
      if found == UInt8(ascii: "\"") { return }
      guard found == UInt8(ascii: "\\") else { continue }
      guard let escape = byte else { throw JSONFault.unexpected(at: at) }
      at += 1
      if escape == UInt8(ascii: "u") {
        let unit = try skipUnit()
        if UTF16.isTrailSurrogate(unit) { throw JSONFault.unexpected(at: at - 6) }
        guard UTF16.isLeadSurrogate(unit) else { continue }
        // Without the other half of its pair it is no character, and the protocol refuses it.
        for expected in "\\u".utf8 {
          guard byte == expected else { throw JSONFault.unexpected(at: at) }
          at += 1
        }
        guard UTF16.isTrailSurrogate(try skipUnit()) else { throw JSONFault.unexpected(at: at - 6) }
      } else if !"\"\\/bfnrt".utf8.contains(escape) {
        throw JSONFault.unexpected(at: at - 1)
      }
    }
  }

  private mutating func skipUnit() throws -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let digit = byte, isHexadecimal(digit) else { throw JSONFault.unexpected(at: at) }
      unit = unit << 4 | UInt16(digit & 0xf) + (digit > 0x39 ? 9 : 0)
      at += 1
    }
    return unit
  }

  private func isHexadecimal(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
  }

  private mutating func skipNumber() throws {
    if byte == UInt8(ascii: "-") { at += 1 }
    if byte == UInt8(ascii: "0") { at += 1 } else { try skipDigits() }
    if byte == UInt8(ascii: ".") {
      at += 1
      try skipDigits()
    }
    if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
      at += 1
      if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { at += 1 }
      try skipDigits()
    }
  }

  private mutating func skipDigits() throws {
    let start = at
    while let byte, (0x30...0x39).contains(byte) { at += 1 }
    if at == start { throw JSONFault.unexpected(at: at) }
  }
}
