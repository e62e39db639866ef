/// A JSON value with its spelling: plain, slow, and only for tests.
public struct OracleJSON: Sendable, Equatable {
  /// The kind of value, with its content.
  public enum Content: Sendable, Equatable {
    case null
    case boolean(Bool)
    /// A number; `minified` has its spelling.
    case number
    /// A string, decoded to UTF-8.
    case string([UInt8])
    case array([OracleJSON])
    /// Members in order, including duplicates.
    case object([OracleJSONMember])
  }

  public let content: Content
  /// The value as spelled, without white space outside strings.
  public let minified: [UInt8]
  /// Nesting: 0 for a scalar, one more than the deepest element for an array or object.
  public let depth: Int

  /// Parses a document strictly (RFC 8259; no byte order mark, no unpaired surrogate escapes).
  ///
  /// - Parameter maxDepth: the maximum nesting for which a tree is built. That is recursive, so keep it below a
  ///   thousand. Validity is checked first, at any depth.
  public static func parse(_ bytes: [UInt8], maxDepth: Int = 512) throws(OracleJSONError) -> OracleJSON {
    guard OracleUTF8.isValid(bytes) else { throw .invalidUTF8 }
    var scanner = OracleJSONScanner(bytes)
    try scanner.scan()
    guard scanner.depth <= maxDepth else { throw .tooDeep(scanner.depth) }
    var builder = OracleJSONBuilder(minified: scanner.minified)
    return builder.value()
  }

  /// The value of the last member with this decoded name; nil if there is none, or this is not an object.
  public func last(_ name: String) -> OracleJSON? {
    guard case .object(let members) = content else { return nil }
    return members.last { $0.name == Array(name.utf8) }?.value
  }

  /// The decoded string; nil for other values.
  public var string: [UInt8]? {
    if case .string(let decoded) = content { decoded } else { nil }
  }

  /// The elements; nil for values other than arrays.
  public var elements: [OracleJSON]? {
    if case .array(let elements) = content { elements } else { nil }
  }
}

/// One member of a JSON object.
public struct OracleJSONMember: Sendable, Equatable {
  /// The name as spelled, with its quotation marks.
  public let rawName: [UInt8]
  /// The name, decoded to UTF-8.
  public let name: [UInt8]
  public let value: OracleJSON

  public init(rawName: [UInt8], name: [UInt8], value: OracleJSON) {
    self.rawName = rawName
    self.name = name
    self.value = value
  }
}

/// Why bytes cannot be parsed as a JSON value.
public enum OracleJSONError: Error, Equatable {
  case invalidUTF8
  case invalidJSON
  /// Valid JSON, but nested deeper than allowed.
  case tooDeep(Int)
}

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
