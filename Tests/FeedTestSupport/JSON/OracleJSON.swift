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
