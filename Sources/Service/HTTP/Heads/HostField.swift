/// A value of `Host`: a name or an address, with an optional port.
struct HostField: Sendable, Equatable {
  /// The host without brackets.
  let host: String
  /// Whether it is an IPv6 address in brackets.
  let isBracketed: Bool

  /// Parses a value; nil if it is invalid. User names, paths, and text after a closing bracket are invalid.
  init?(_ value: String) {
    let name: Substring
    var rest: Substring
    if value.hasPrefix("[") {
      guard let end = value.firstIndex(of: "]") else { return nil }
      name = value[value.index(after: value.startIndex)..<end]
      guard name.contains(":"), IPAddress(String(name)) != nil else { return nil }
      rest = value[value.index(after: end)...]
      isBracketed = true
    } else {
      name = value.prefix { $0 != ":" }
      guard name.utf8.allSatisfy(Self.isNameByte) else { return nil }
      rest = value[name.endIndex...]
      isBracketed = false
    }
    host = String(name)
    guard !rest.isEmpty else { return }
    guard rest.removeFirst() == ":", rest.utf8.count <= 5 else { return nil }
    // RFC 3986 allows an empty port.
    guard rest.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      rest.isEmpty || UInt16(rest) != nil
    else { return nil }
  }

  /// A byte of `reg-name` in RFC 3986: unreserved characters, percent-encoding, sub-delimiters.
  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: "-._~%!$&'()*+,;=".utf8.contains(byte)
    }
  }
}
