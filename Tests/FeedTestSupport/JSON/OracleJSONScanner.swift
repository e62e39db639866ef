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
