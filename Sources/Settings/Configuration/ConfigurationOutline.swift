/// Positions in JSON5 text: the line of each key, the first duplicate key, and the first syntax error in brackets,
/// quotes, commas or words.
///
/// It complements `JSONDecoder`, which reports none of these. It is not a validator: it checks neither escapes nor
/// digits. Its ``fault`` is meaningful only if the decoder has rejected the text.
struct ConfigurationOutline {
  /// The line of each dotted key, from 1.
  private(set) var lines: [String: Int] = [:]
  private(set) var duplicate: (key: String, firstLine: Int, line: Int)?
  private(set) var fault: ConfigurationFault?
  /// Whether the text is nested too deeply. It must not be passed to the decoder, which is recursive.
  private(set) var isTooDeep = false

  private let bytes: [UInt8]
  private var position = 0
  private var line = 1
  private var depth = 0

  /// Deeper than any real configuration, and safe for any thread's stack.
  private static let maximumDepth = 32

  init(_ text: String) {
    bytes = Array(text.utf8)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    do throws(ConfigurationFault) {
      try takeValue(key: "")
      try skipSpace()
      if let next = peek { throw fault("unexpected \(Self.shown(next)) after the end of the configuration") }
    } catch {
      fault = error
    }
  }

  private mutating func takeValue(key: String) throws(ConfigurationFault) {
    try skipSpace()
    switch peek {
    case nil:
      throw fault(bytes.isEmpty ? "the configuration is empty; write {}" : "a value is missing at the end")
    case UInt8(ascii: "{"): try takeObject(prefix: key.isEmpty ? "" : key + ".")
    case UInt8(ascii: "["): try takeArray(key: key)
    case UInt8(ascii: "\""), UInt8(ascii: "'"): _ = try takeString()
    default: try takeWord(key: key)
    }
  }

  private mutating func takeObject(prefix: String) throws(ConfigurationFault) {
    let opened = try open()
    var names: [String: Int] = [:]
    while try !takeClosing(UInt8(ascii: "}"), opened: opened) {
      let keyLine = line
      let name = try takeName()
      let key = prefix + name
      try skipSpace()
      guard peek == UInt8(ascii: ":") else { throw fault("':' is missing after \(key)") }
      position += 1
      try skipSpace()
      let isObject = peek == UInt8(ascii: "{")
      try takeValue(key: key)
      if let first = names.updateValue(keyLine, forKey: name) ?? (isObject ? nil : lines[key]),
        duplicate == nil
      {
        duplicate = (key, first, keyLine)
      }
      lines[key] = keyLine
      try takeSeparator(UInt8(ascii: "}"))
    }
  }

  private mutating func takeArray(key: String) throws(ConfigurationFault) {
    let opened = try open()
    var index = 0
    while try !takeClosing(UInt8(ascii: "]"), opened: opened) {
      try takeValue(key: "\(key)[\(index)]")
      index += 1
      try takeSeparator(UInt8(ascii: "]"))
    }
  }

  private mutating func open() throws(ConfigurationFault) -> (line: Int, bracket: UInt8) {
    guard depth < Self.maximumDepth else {
      isTooDeep = true
      throw fault("nested deeper than \(Self.maximumDepth) levels")
    }
    depth += 1
    defer { position += 1 }
    return (line, bytes[position])
  }

  /// Consumes the closing bracket if it is next; throws at the end of the text.
  private mutating func takeClosing(
    _ closing: UInt8,
    opened: (line: Int, bracket: UInt8)
  ) throws(ConfigurationFault) -> Bool {
    try skipSpace()
    guard let next = peek else {
      throw fault("the \(Self.shown(opened.bracket)) of line \(opened.line) is never closed")
    }
    guard next == closing else { return false }
    position += 1
    depth -= 1
    return true
  }

  /// Consumes a comma, unless the closing bracket follows.
  private mutating func takeSeparator(_ closing: UInt8) throws(ConfigurationFault) {
    try skipSpace()
    guard let next = peek, next != closing else { return }
    guard next == UInt8(ascii: ",") else {
      throw fault("expected ',' or \(Self.shown(closing)), found \(Self.shown(next))")
    }
    position += 1
  }

  private mutating func takeName() throws(ConfigurationFault) -> String {
    let start = position
    let isQuoted = peek == UInt8(ascii: "\"") || peek == UInt8(ascii: "'")
    let word = isQuoted ? try takeString() : takeRun()
    if word.isEmpty, !isQuoted { throw fault("expected a key, found \(Self.shown(bytes[position]))") }
    guard word.utf8.contains(UInt8(ascii: "\\")) else { return word }
    // Escapes stand for other characters.
    let literal = String(decoding: bytes[start..<position], as: UTF8.self)
    return ConfigurationDocument.value(of: isQuoted ? literal : "\"\(literal)\"")?.text ?? word
  }

  private mutating func takeWord(key: String) throws(ConfigurationFault) {
    let word = takeRun()
    if word.isEmpty { throw fault("expected a value, found \(Self.shown(bytes[position]))") }
    let unsigned = word.first == "-" || word.first == "+" ? word.dropFirst() : word[...]
    let isNumber = unsigned.first?.isASCII == true && Double(unsigned) != nil
    if !isNumber, !["true", "false", "null"].contains(word), !["Infinity", "NaN"].contains(unsigned) {
      let shown = SecretKey.isMasked(key) ? "the value of \(key)" : "'\(word)'"
      throw fault("\(shown) is not a value; a string must be in quotes")
    }
  }

  /// Consumes the bytes up to the next white space or punctuation.
  private mutating func takeRun() -> String {
    let start = position
    while let next = peek, next > 0x20, !Self.punctuation.contains(next) { position += 1 }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  /// Consumes the text between the quotes, with its escapes.
  private mutating func takeString() throws(ConfigurationFault) -> String {
    let quote = bytes[position]
    let openedLine = line
    let start = position + 1
    position += 1
    while let next = peek, next != quote {
      if next == UInt8(ascii: "\n") { break }
      if next == UInt8(ascii: "\\") {
        position += 1
        if peek == UInt8(ascii: "\r"), position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "\n") {
          position += 1
        }
        if peek == UInt8(ascii: "\n") { line += 1 }
      }
      position += 1
    }
    guard peek == quote else {
      throw ConfigurationFault(line: openedLine, message: "a string is not closed by \(Self.shown(quote))")
    }
    defer { position += 1 }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  /// Skips white space and comments.
  private mutating func skipSpace() throws(ConfigurationFault) {
    while let next = peek {
      if next == UInt8(ascii: "\n") { line += 1 }
      if next <= 0x20 {
        position += 1
      } else if next == UInt8(ascii: "/"), position + 1 < bytes.count {
        guard try skipComment(bytes[position + 1]) else { return }
      } else {
        return
      }
    }
  }

  private mutating func skipComment(_ second: UInt8) throws(ConfigurationFault) -> Bool {
    if second == UInt8(ascii: "/") {
      while let next = peek, next != UInt8(ascii: "\n") { position += 1 }
      return true
    }
    guard second == UInt8(ascii: "*") else { return false }
    let openedLine = line
    position += 2
    while position + 1 < bytes.count {
      if bytes[position] == UInt8(ascii: "*"), bytes[position + 1] == UInt8(ascii: "/") {
        position += 2
        return true
      }
      if bytes[position] == UInt8(ascii: "\n") { line += 1 }
      position += 1
    }
    throw ConfigurationFault(line: openedLine, message: "a comment is not closed by '*/'")
  }

  private var peek: UInt8? {
    position < bytes.count ? bytes[position] : nil
  }

  private func fault(_ message: String) -> ConfigurationFault {
    ConfigurationFault(line: line, message: message)
  }

  private static func shown(_ byte: UInt8) -> String {
    (0x21...0x7E).contains(byte) ? "'\(Character(UnicodeScalar(byte)))'" : "a character outside ASCII"
  }

  private static let punctuation = Set("{}[]:,/\"'".utf8)
}

/// A syntax error in JSON5 text.
struct ConfigurationFault: Error, Equatable {
  let line: Int
  let message: String
}
