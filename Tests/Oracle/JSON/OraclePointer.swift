/// A JSON Pointer (RFC 6901) in a key of an ordered section.
public struct OraclePointer: Sendable, Equatable {
  /// The pointer, with JSON's escapes undone, but not its own.
  public let text: [UInt8]
  /// The names of members or array elements, outermost first, with all escapes undone.
  private let names: [[UInt8]]

  /// nil if it is not a pointer, or too long for a key.
  public init?(_ text: [UInt8]) {
    guard text.count <= 255 || !keeps(.pointerLimited),
      text.isEmpty || text.first == UInt8(ascii: "/") || !keeps(.pointerSlash)
    else { return nil }
    let parts = text.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
    var names: [[UInt8]] = []
    for part in parts {
      guard let name = Self.name(Array(part)) else { return nil }
      names.append(name)
    }
    self.text = text
    self.names = names
  }

  /// Undoes `~0` and `~1`; nil if another byte follows a tilde, or none.
  private static func name(_ part: [UInt8]) -> [UInt8]? {
    var name: [UInt8] = []
    var at = 0
    while at < part.count {
      if part[at] != UInt8(ascii: "~") {
        name.append(part[at])
        at += 1
        continue
      }
      switch at + 1 < part.count ? part[at + 1] : nil {
      case UInt8(ascii: "0"): name.append(UInt8(ascii: "~"))
      case UInt8(ascii: "1"): name.append(UInt8(ascii: "/"))
      default:
        if keeps(.pointerTilde) { return nil }
      }
      at += 2
    }
    return keeps(.pointerEscapes) ? name : part
  }

  /// The value that it names in a document; nil for none.
  public func value(in document: OracleJSON) -> OracleJSON? {
    if names.isEmpty, !keeps(.wholeData) { return nil }
    var value = document
    for name in names {
      switch value.content {
      case .object(let members):
        guard let member = Self.member(name, of: members) else { return nil }
        value = member.value
      case .array(let elements):
        guard let index = Self.index(name), index < elements.count else { return nil }
        value = elements[index]
      case .null, .boolean, .number, .string: return nil
      }
    }
    return value
  }

  private static func member(_ name: [UInt8], of members: [OracleJSONMember]) -> OracleJSONMember? {
    keeps(.pointerToLast) ? members.last { $0.name == name } : members.first { $0.name == name }
  }

  /// Digits without a zero before them.
  private static func index(_ name: [UInt8]) -> Int? {
    guard !name.isEmpty, name.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    guard name == [0x30] || name[0] != 0x30 || !keeps(.pointerIndex) else { return nil }
    // A number that is too large for an Int is beyond every end.
    return Int(String(decoding: name, as: UTF8.self))
  }
}
