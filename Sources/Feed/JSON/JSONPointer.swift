/// A JSON Pointer (RFC 6901): the path to a value in another.
package struct JSONPointer: Equatable, Sendable {
  /// The maximum length of a pointer, in bytes.
  package static let maxBytes = 255

  /// Its reference tokens, with `~0` and `~1` resolved.
  package let tokens: [[UInt8]]

  /// A pointer through members with these names; without names, to the value itself.
  package init(members names: [String]) { tokens = names.map { Array($0.utf8) } }

  /// The pointer to the member at the beginning of its path.
  package var column: JSONPointer { JSONPointer(tokens: Array(tokens.prefix(1))) }

  /// The text of the pointer.
  package var text: String {
    tokens.map { token in
      "/" + String(decoding: token, as: UTF8.self).replacing("~", with: "~0").replacing("/", with: "~1")
    }.joined()
  }

  package init(tokens: [[UInt8]]) { self.tokens = tokens }

  /// - Parameter text: the pointer, without JSON's escapes.
  /// - Returns: nil if it is not a pointer, or too long.
  package init?(_ text: ByteSpan) {
    guard text.count <= Self.maxBytes, text.isEmpty || text[0] == UInt8(ascii: "/") else { return nil }
    var tokens: [[UInt8]] = []
    var at = 0
    while at < text.count {
      switch text[at] {
      case UInt8(ascii: "/"): tokens.append([])
      case UInt8(ascii: "~"):
        at += 1
        guard at < text.count, text[at] == UInt8(ascii: "0") || text[at] == UInt8(ascii: "1") else {
          return nil
        }
        tokens[tokens.count - 1].append(text[at] == UInt8(ascii: "0") ? UInt8(ascii: "~") : UInt8(ascii: "/"))
      default: tokens[tokens.count - 1].append(text[at])
      }
      at += 1
    }
    self.tokens = tokens
  }

  /// The same of a string.
  package init?(_ text: String) {
    guard let pointer = ByteText(text).withBytes({ JSONPointer($0) }) else { return nil }
    self = pointer
  }

  /// Finds the value in one pass over a text, at any depth. Of repeated members the last counts.
  ///
  /// - Parameter text: valid JSON without white space.
  /// - Returns: the offset of the value; nil if it does not exist.
  func find(in text: ByteSpan) -> Int? {
    if tokens.isEmpty { return 0 }
    var scanner = JSONScanner(text)
    var found: Int?
    // For each container on the path: whether it is an array, and the number of elements before.
    var path: [(isArray: Bool, index: Int)] = []
    guard enter(text[0], &path) else { return nil }
    var at = 1
    while let container = path.last {
      switch text[at] {
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        path.removeLast()
        at += 1
        continue
      case UInt8(ascii: ","):
        at += 1
        continue
      default: break
      }
      let token = tokens[path.count - 1]
      let isMatch: Bool
      if container.isArray {
        isMatch = Self.index(token) == container.index
        path[path.count - 1].index += 1
      } else {
        let end = scanner.endOfString(at)
        isMatch = UnescapedBytes(ByteSpan(text.base + at + 1, end - at - 2)).equals(token)
        at = end + 1
      }
      if isMatch {
        // An earlier member of the same name does not count.
        found = path.count == tokens.count ? at : nil
        if path.count < tokens.count, enter(text[at], &path) {
          at += 1
          continue
        }
      }
      at = scanner.endOfValue(at)
    }
    return found
  }

  /// Finds the value in a part of an indexed text. Of repeated members the last counts.
  ///
  /// - Parameter start: the first token of the part.
  package func find(in text: JSONText, from start: Int) -> JSONText.Field? {
    var field: JSONText.Field = (start, text.tokenAfterValue(start))
    for token in tokens {
      guard let inner = Self.child(token, of: field.first, in: text) else { return nil }
      field = inner
    }
    return field
  }

  private static func child(_ token: [UInt8], of parent: Int, in text: JSONText) -> JSONText.Field? {
    var found: JSONText.Field?
    switch text.character(parent) {
    case UInt8(ascii: "{"):
      token.withUnsafeBytes { token in
        let token = ByteSpan(token)
        var at = parent + 1
        while text.character(at) != UInt8(ascii: "}") {
          let end = text.tokenAfterValue(at + 2)
          let name = text.rawString(at)
          if text.hasEscapes ? UnescapedBytes(name).equals(token.buffer) : name.hasSameBytes(as: token) {
            found = (at + 2, end)
          }
          at = text.character(end) == UInt8(ascii: ",") ? end + 1 : end
        }
      }
    case UInt8(ascii: "["):
      guard let wanted = index(token) else { return nil }
      var index = 0
      text.forEachElement(of: parent) { element in
        if index == wanted { found = element }
        index += 1
      }
    default: break
    }
    return found
  }

  private func enter(_ byte: UInt8, _ path: inout [(isArray: Bool, index: Int)]) -> Bool {
    guard byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") else { return false }
    path.append((byte == UInt8(ascii: "["), 0))
    return true
  }

  /// The array index in a token: digits without a leading zero.
  private static func index(_ token: [UInt8]) -> Int? {
    guard let first = token.first, token.count == 1 || first != UInt8(ascii: "0"),
      token.allSatisfy({ (0x30...0x39).contains($0) })
    else { return nil }
    return Int(String(decoding: token, as: UTF8.self))
  }
}

/// The bytes of a JSON string with its escapes resolved, one by one.
struct UnescapedBytes: IteratorProtocol {
  let raw: ByteSpan
  private var at = 0
  /// The remaining bytes of the last escape, the next in the lowest byte, and their number.
  private var pending: UInt32 = 0
  private var pendingCount = 0

  /// - Parameter raw: the text between the quotes, with valid escapes.
  init(_ raw: ByteSpan) { self.raw = raw }

  mutating func next() -> UInt8? {
    if pendingCount > 0 {
      defer {
        pending >>= 8
        pendingCount -= 1
      }
      return UInt8(truncatingIfNeeded: pending)
    }
    guard at < raw.count else { return nil }
    let byte = raw[at]
    guard byte == UInt8(ascii: "\\") else {
      at += 1
      return byte
    }
    // A pair of surrogates takes two escapes.
    var length = raw[at + 1] == UInt8(ascii: "u") ? 6 : 2
    if length == 6, let unit = JSONString.codeUnit(raw, at + 2), unit & 0xFC00 == 0xD800 { length = 12 }
    length = min(length, raw.count - at)
    var bytes: (UInt32, UInt32, UInt32) = (0, 0, 0)
    let escape = ByteSpan(raw.base + at, length)
    at += length
    pendingCount = withUnsafeMutableBytes(of: &bytes) { buffer in
      JSONString.unescape(escape, into: buffer.baseAddress!.assumingMemoryBound(to: UInt8.self))
    }
    pending = bytes.0
    return next()
  }

  /// Whether two texts have the same bytes with their escapes resolved.
  static func areEqual(_ one: ByteSpan, _ other: ByteSpan) -> Bool {
    if !one.contains(UInt8(ascii: "\\")), !other.contains(UInt8(ascii: "\\")) {
      return one.hasSameBytes(as: other)
    }
    var (left, right) = (UnescapedBytes(one), UnescapedBytes(other))
    while true {
      let byte = left.next()
      if byte != right.next() { return false }
      if byte == nil { return true }
    }
  }

  func equals(_ bytes: some Collection<UInt8>) -> Bool {
    if !raw.contains(UInt8(ascii: "\\")) { return raw.buffer.elementsEqual(bytes) }
    var iterator = self
    for byte in bytes where iterator.next() != byte { return false }
    return iterator.next() == nil
  }
}
