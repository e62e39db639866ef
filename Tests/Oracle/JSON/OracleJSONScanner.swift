/// Validates a document without recursion, and collects its minified bytes and its depth.
struct OracleJSONScanner {
  private enum Expectation {
    case value, valueOrEnd, name, nameOrEnd, commaOrEnd, nothing
  }

  private let bytes: [UInt8]
  private var at = 0
  /// The open brackets, outermost first.
  private var open: [UInt8] = []
  private(set) var minified: [UInt8] = []
  private(set) var depth = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  mutating func scan() throws(OracleJSONError) {
    var expectation = Expectation.value
    while true {
      skipWhiteSpace()
      guard let byte = peek else {
        guard expectation == .nothing else { throw .invalidJSON }
        return
      }
      switch (expectation, byte) {
      case (.valueOrEnd, UInt8(ascii: "]")), (.nameOrEnd, UInt8(ascii: "}")):
        expectation = close()
      case (.commaOrEnd, UInt8(ascii: "]")) where open.last == UInt8(ascii: "["):
        expectation = close()
      case (.commaOrEnd, UInt8(ascii: "}")) where open.last == UInt8(ascii: "{"):
        expectation = close()
      case (.commaOrEnd, UInt8(ascii: ",")):
        take()
        expectation = open.last == UInt8(ascii: "{") ? .name : .value
      case (.value, UInt8(ascii: "[")), (.valueOrEnd, UInt8(ascii: "[")):
        begin(byte)
        expectation = .valueOrEnd
      case (.value, UInt8(ascii: "{")), (.valueOrEnd, UInt8(ascii: "{")):
        begin(byte)
        expectation = .nameOrEnd
      case (.value, _), (.valueOrEnd, _):
        try scalar(byte)
        expectation = open.isEmpty ? .nothing : .commaOrEnd
      case (.name, UInt8(ascii: "\"")), (.nameOrEnd, UInt8(ascii: "\"")):
        try string()
        skipWhiteSpace()
        try take(UInt8(ascii: ":"))
        expectation = .value
      default:
        throw .invalidJSON
      }
    }
  }

  private var peek: UInt8? { at < bytes.count ? bytes[at] : nil }

  private mutating func take() {
    minified.append(bytes[at])
    at += 1
  }

  private mutating func take(_ byte: UInt8) throws(OracleJSONError) {
    guard peek == byte else { throw .invalidJSON }
    take()
  }

  private mutating func skipWhiteSpace() {
    while let byte = peek, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { at += 1 }
  }

  private mutating func begin(_ bracket: UInt8) {
    take()
    open.append(bracket)
    depth = max(depth, open.count)
  }

  private mutating func close() -> Expectation {
    take()
    open.removeLast()
    return open.isEmpty ? .nothing : .commaOrEnd
  }

  private mutating func scalar(_ first: UInt8) throws(OracleJSONError) {
    switch first {
    case UInt8(ascii: "\""): try string()
    case UInt8(ascii: "t"): try word("true")
    case UInt8(ascii: "f"): try word("false")
    case UInt8(ascii: "n"): try word("null")
    default: try number()
    }
  }

  private mutating func word(_ word: String) throws(OracleJSONError) {
    for byte in word.utf8 { try take(byte) }
  }

  private mutating func number() throws(OracleJSONError) {
    if peek == UInt8(ascii: "-") { take() }
    if peek == UInt8(ascii: "0") { take() } else { try digits() }
    if peek == UInt8(ascii: ".") {
      take()
      try digits()
    }
    if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
      take()
      if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { take() }
      try digits()
    }
  }

  private mutating func digits() throws(OracleJSONError) {
    guard let first = peek, (0x30...0x39).contains(first) else { throw .invalidJSON }
    while let byte = peek, (0x30...0x39).contains(byte) { take() }
  }

  private mutating func string() throws(OracleJSONError) {
    try take(UInt8(ascii: "\""))
    while let byte = peek, byte != UInt8(ascii: "\"") {
      guard byte >= 0x20 else { throw .invalidJSON }
      take()
      if byte == UInt8(ascii: "\\") { try escape() }
    }
    try take(UInt8(ascii: "\""))
  }

  private mutating func escape() throws(OracleJSONError) {
    guard let byte = peek else { throw .invalidJSON }
    take()
    if byte != UInt8(ascii: "u") {
      guard Array("\"\\/bfnrt".utf8).contains(byte) else { throw .invalidJSON }
      return
    }
    let unit = try hexadecimal()
    if (0xDC00...0xDFFF).contains(unit) { throw .invalidJSON }
    if (0xD800...0xDBFF).contains(unit) {
      try take(UInt8(ascii: "\\"))
      try take(UInt8(ascii: "u"))
      guard (0xDC00...0xDFFF).contains(try hexadecimal()) else { throw .invalidJSON }
    }
  }

  private mutating func hexadecimal() throws(OracleJSONError) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = peek, let digit = Character(UnicodeScalar(byte)).hexDigitValue, byte < 0x80 else {
        throw .invalidJSON
      }
      unit = unit * 16 + UInt32(digit)
      take()
    }
    return unit
  }
}

/// UTF-8 by table 3-7 of the Unicode standard, byte by byte.
public enum OracleUTF8 {
  public static func isValid(_ bytes: [UInt8]) -> Bool {
    var at = 0
    while at < bytes.count {
      if bytes[at] < 0x80 {
        at += 1
        continue
      }
      guard let rest = continuation(of: bytes[at]) else { return false }
      guard at + rest.count < bytes.count else { return false }
      for (offset, allowed) in rest.enumerated() where !allowed.contains(bytes[at + 1 + offset]) {
        return false
      }
      at += 1 + rest.count
    }
    return true
  }

  /// The valid ranges of the bytes after a first byte; nil unless it begins a sequence.
  private static func continuation(of first: UInt8) -> [ClosedRange<UInt8>]? {
    let tail: ClosedRange<UInt8> = 0x80...0xBF
    switch first {
    case 0xC2...0xDF: return [tail]
    case 0xE0: return [0xA0...0xBF, tail]
    case 0xED: return [0x80...0x9F, tail]
    case 0xE1...0xEF: return [tail, tail]
    case 0xF0: return [0x90...0xBF, tail, tail]
    case 0xF1...0xF3: return [tail, tail, tail]
    case 0xF4: return [0x80...0x8F, tail, tail]
    default: return nil
    }
  }

  /// The UTF-8 bytes of a scalar value.
  static func encode(_ scalar: UInt32) -> [UInt8] {
    func tail(_ shift: UInt32) -> UInt8 { 0x80 | UInt8(scalar >> shift & 0x3F) }
    switch scalar {
    case 0..<0x80: return [UInt8(scalar)]
    case 0x80..<0x800: return [0xC0 | UInt8(scalar >> 6), tail(0)]
    case 0x800..<0x10000: return [0xE0 | UInt8(scalar >> 12), tail(6), tail(0)]
    default: return [0xF0 | UInt8(scalar >> 18), tail(12), tail(6), tail(0)]
    }
  }
}
