import Glibc

extension JSONText {
  /// Checks the whole text against the grammar of RFC 8259, and returns its depth (0 for a scalar).
  ///
  /// The walk keeps one bit for each open container, so that nesting costs no stack. Unpaired
  /// surrogate escapes are not looked at here, as they are within the grammar: see
  /// `unpairedSurrogate(from:to:)`.
  func validate() throws(JSONFault) -> Int {
    var containers = BitStack()
    var deepest = 0
    var state = ValidationState.value

    for token in 0..<offsetCount {
      let offset = Int(offsets[token])
      let byte = bytes.base[offset]
      switch state {
      case .colon:
        guard byte == UInt8(ascii: ":") else { throw JSONFault(.unexpectedCharacter, at: offset) }
        state = .value
      case .firstKey where byte == UInt8(ascii: "}"):
        containers.pop()
        state = .afterValue
      case .firstKey, .key:
        guard byte == UInt8(ascii: "\"") else { throw JSONFault(.unexpectedCharacter, at: offset) }
        if hasEscapes { try validateEscapes(token) }
        state = .colon
      case .firstElement where byte == UInt8(ascii: "]"):
        containers.pop()
        state = .afterValue
      case .value, .firstElement:
        switch byte {
        case UInt8(ascii: "\""):
          if hasEscapes { try validateEscapes(token) }
          state = .afterValue
        case UInt8(ascii: "{"):
          containers.push(true)
          deepest = max(deepest, containers.count)
          state = .firstKey
        case UInt8(ascii: "["):
          containers.push(false)
          deepest = max(deepest, containers.count)
          state = .firstElement
        case UInt8(ascii: "-"), 0x30...0x39:
          try validateNumber(token)
          state = .afterValue
        case UInt8(ascii: "t"):
          try validateLiteral("true", token)
          state = .afterValue
        case UInt8(ascii: "f"):
          try validateLiteral("false", token)
          state = .afterValue
        case UInt8(ascii: "n"):
          try validateLiteral("null", token)
          state = .afterValue
        default: throw JSONFault(.unexpectedCharacter, at: offset)
        }
      case .afterValue:
        guard let isObject = containers.top else { throw JSONFault(.unexpectedCharacter, at: offset) }
        switch byte {
        case UInt8(ascii: ","): state = isObject ? .key : .value
        case UInt8(ascii: "}") where isObject: containers.pop()
        case UInt8(ascii: "]") where !isObject: containers.pop()
        default: throw JSONFault(.unexpectedCharacter, at: offset)
        }
      }
    }
    guard state == .afterValue, containers.count == 0 else {
      throw JSONFault(.unexpectedEnd, at: bytes.count)
    }
    return deepest
  }

  private enum ValidationState {
    case value, firstElement, firstKey, key, colon, afterValue
  }

  private func validateLiteral(_ literal: StaticString, _ token: Int) throws(JSONFault) {
    let start = Int(offsets[token])
    guard ByteSpan(bytes.base + start, endOffset(token) - start).matches(literal) else {
      throw JSONFault(.invalidLiteral, at: start)
    }
  }

  /// `-? (0 | [1-9][0-9]*) (\. [0-9]+)? ([eE] [+-]? [0-9]+)?`
  private func validateNumber(_ token: Int) throws(JSONFault) {
    let start = Int(offsets[token])
    let end = endOffset(token)
    let text = bytes.base
    var at = start
    func digits() -> Int {
      let first = at
      while at < end, text[at] &- 0x30 < 10 { at += 1 }
      return at - first
    }
    if text[at] == UInt8(ascii: "-") { at += 1 }
    let startsWithZero = at < end && text[at] == UInt8(ascii: "0")
    let integerDigits = digits()
    var isValid = integerDigits > 0 && !(startsWithZero && integerDigits > 1)
    if at < end, text[at] == UInt8(ascii: ".") {
      at += 1
      if digits() == 0 { isValid = false }
    }
    if at < end, text[at] | 0x20 == UInt8(ascii: "e") {
      at += 1
      if at < end, text[at] == UInt8(ascii: "+") || text[at] == UInt8(ascii: "-") { at += 1 }
      if digits() == 0 { isValid = false }
    }
    guard isValid, at == end else { throw JSONFault(.invalidNumber, at: start) }
  }

  private func validateEscapes(_ token: Int) throws(JSONFault) {
    let string = rawString(token)
    let start = Int(offsets[token]) + 1
    var at = 0
    while let found = memchr(string.base + at, Int32(UInt8(ascii: "\\")), string.count - at) {
      at = string.base.distance(to: found.assumingMemoryBound(to: UInt8.self)) + 1
      guard at < string.count else { throw JSONFault(.invalidEscape, at: start + at) }
      switch string[at] {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
        UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
        at += 1
      case UInt8(ascii: "u"):
        guard JSONString.codeUnit(string, at + 1) != nil else {
          throw JSONFault(.invalidEscape, at: start + at)
        }
        at += 5
      default: throw JSONFault(.invalidEscape, at: start + at)
      }
    }
  }

  /// The first string in tokens `first..<end` with a surrogate escape that has no partner.
  func unpairedSurrogate(from first: Int, to end: Int) -> JSONFault? {
    guard hasEscapes, span(from: first, to: end).contains(UInt8(ascii: "\\")) else { return nil }
    for token in first..<end where character(token) == UInt8(ascii: "\"") {
      if JSONString.hasUnpairedSurrogate(rawString(token)) {
        return JSONFault(.unpairedSurrogate, at: Int(offsets[token]))
      }
    }
    return nil
  }
}

/// A stack of bits; the first 64 need no memory.
private struct BitStack {
  private(set) var count = 0
  private var recent: UInt64 = 0
  private var older: [UInt64] = []

  var top: Bool? { count == 0 ? nil : recent & 1 == 1 }

  @inline(__always)
  mutating func push(_ bit: Bool) {
    if count > 0, count & 63 == 0 { older.append(recent) }
    recent = recent << 1 | (bit ? 1 : 0)
    count += 1
  }

  @inline(__always)
  mutating func pop() {
    recent >>= 1
    count -= 1
    if count > 0, count & 63 == 0 { recent = older.removeLast() }
  }
}
