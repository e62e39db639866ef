/// A JSON value that remembers how it was spelled: plain, slow, and only for tests.
public struct OracleJSON: Sendable, Equatable {
  /// What kind of value it is, with what it holds.
  public enum Content: Sendable, Equatable {
    case null
    case boolean(Bool)
    /// A number; its spelling is the value's `minified`.
    case number
    /// A string, decoded to UTF-8.
    case string([UInt8])
    case array([OracleJSON])
    /// Members in the order they stood, duplicates included.
    case object([OracleJSONMember])
  }

  public let content: Content
  /// The value as it was spelled, without the white space outside strings.
  public let minified: [UInt8]
  /// Nesting: 0 for a scalar, one more than the deepest element for an array or object.
  public let depth: Int

  /// Parses a whole document strictly (RFC 8259; no byte order mark, no unpaired surrogate escape).
  ///
  /// - Parameter maxDepth: deepest nesting of which a tree is built (recursively, so keep it below
  ///   a thousand); validity is judged at any depth, and comes first.
  public static func parse(_ bytes: [UInt8], maxDepth: Int = 512) throws(OracleJSONError) -> OracleJSON {
    guard OracleUTF8.isValid(bytes) else { throw .invalidUTF8 }
    var scanner = OracleJSONScanner(bytes)
    try scanner.scan()
    guard scanner.depth <= maxDepth else { throw .tooDeep(scanner.depth) }
    var builder = OracleJSONBuilder(minified: scanner.minified)
    return builder.value()
  }

  /// The value of the last member with this decoded name, nil when there is none or no object.
  public func last(_ name: String) -> OracleJSON? {
    guard case .object(let members) = content else { return nil }
    return members.last { $0.name == Array(name.utf8) }?.value
  }

  /// The decoded string, nil when the value is something else.
  public var string: [UInt8]? {
    if case .string(let decoded) = content { decoded } else { nil }
  }

  /// The elements, nil when the value is something else than an array.
  public var elements: [OracleJSON]? {
    if case .array(let elements) = content { elements } else { nil }
  }
}
