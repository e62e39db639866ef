import Feed
import FeedConfiguration
import FoundationEssentials

/// The positions of decimals in a row that are not JSON numbers.
indirect enum Decimals: Equatable {
  case none
  case one(IngestSource.DecimalForm)
  /// An object with `scale` and `value`.
  case withScale
  case members([[UInt8]: Decimals])
  /// The same for all elements of an array, or values of a map.
  case elements(Decimals)

  init(_ members: [IngestMember<IngestSource.DecimalForm>]) {
    self = .none
    add(members)
  }

  mutating func add(_ members: [IngestMember<IngestSource.DecimalForm>]) {
    for member in members { add(.one(member.value), at: member.pointer.tokens[...]) }
  }

  private mutating func add(_ other: Decimals, at tokens: ArraySlice<[UInt8]>) {
    guard let first = tokens.first else {
      self = other
      return
    }
    var all: [[UInt8]: Decimals] = if case .members(let all) = self { all } else { [:] }
    all[first, default: .none].add(other, at: tokens.dropFirst())
    self = .members(all)
  }

  subscript(name: ByteSpan) -> Decimals {
    switch self {
    case .members(let all): all[Array(name.buffer)] ?? .none
    case .elements(let each): each
    default: .none
    }
  }

  /// The forms in the value of a pointer.
  func at(_ pointer: JSONPointer) -> Decimals {
    pointer.tokens.reduce(self) { decimals, token in token.withUnsafeBytes { decimals[ByteSpan($0)] } }
  }

  /// The decimals of a value, by its schema as Kafka Connect's JsonConverter writes it.
  ///
  /// - Parameter schema: the token at which the schema's object starts.
  init(_ schema: Int, of text: JSONText, arena: ScratchArena) {
    self = .none
    var (type, name): (ByteSpan?, ByteSpan?)
    var (scale, inner): (Int?, JSONText.Field?)
    guard text.character(schema) == UInt8(ascii: "{") else { return }
    text.forEachMember(of: schema, arena: arena) { member, value in
      let isText = text.character(value.first) == UInt8(ascii: "\"")
      if member.matches("type"), isText { type = text.string(value.first, arena: arena) }
      if member.matches("name"), isText { name = text.string(value.first, arena: arena) }
      if member.matches("parameters") {
        scale = Self.scale.find(in: text, from: value.first).flatMap {
          Int(text.span(of: $0).text.filter { $0 != "\"" })
        }
      }
      if member.matches("fields") || member.matches("items") || member.matches("values") { inner = value }
    }
    if name?.matches("org.apache.kafka.connect.data.Decimal") == true {
      self = .one(.base64(scale: scale ?? 0))
    } else if name?.matches("io.debezium.data.VariableScaleDecimal") == true {
      self = .withScale
    } else if let inner, type?.matches("struct") == true, text.character(inner.first) == UInt8(ascii: "[") {
      var members: [[UInt8]: Decimals] = [:]
      text.forEachElement(of: inner.first) { element in
        guard let column = Self.field.find(in: text, from: element.first),
          text.character(column.first) == UInt8(ascii: "\"")
        else { return }
        let decimals = Decimals(element.first, of: text, arena: arena)
        if decimals != .none { members[Array(text.string(column.first, arena: arena).buffer)] = decimals }
      }
      if !members.isEmpty { self = .members(members) }
    } else if let inner {
      let each = Decimals(inner.first, of: text, arena: arena)
      if each != .none { self = .elements(each) }
    }
  }

  private static let scale = JSONPointer(members: ["scale"])
  private static let value = JSONPointer(members: ["value"])
  private static let field = JSONPointer(members: ["field"])

  /// Whether the decimal is bytes in Base64.
  var isBytes: Bool {
    switch self {
    case .one(.base64), .withScale: true
    default: false
    }
  }

  /// The decimal that starts at a token as a JSON number; nil if the value is not one: a null, a number, `NaN`.
  func number(_ token: Int, of text: JSONText, arena: ScratchArena) -> String? {
    var (token, form) = (token, IngestSource.DecimalForm.text)
    switch self {
    case .one(let it): form = it
    case .withScale:
      guard let scale = Self.scale.find(in: text, from: token).flatMap({ Int(text.span(of: $0).text) }),
        let value = Self.value.find(in: text, from: token)
      else { return nil }
      (token, form) = (value.first, .base64(scale: scale))
    default: return nil
    }
    guard text.character(token) == UInt8(ascii: "\"") else { return nil }
    let string = text.string(token, arena: arena)
    return switch form {
    case .text: Self.number(string)
    case .base64(let scale):
      Data(base64Encoded: Data(string.buffer)).flatMap { Self.number(Array($0), scale: scale) }
    }
  }

  /// The longest decimal, in bytes of its unscaled number: some 20,000 digits. Writing it takes quadratic time.
  private static let mostBytes = 8_192

  /// An exact number in JSON's spelling.
  ///
  /// - Parameters:
  ///   - bytes: a whole number in two's complement, the highest byte first.
  ///   - scale: the number of its digits after the decimal point; a negative scale appends zeros.
  static func number(_ bytes: [UInt8], scale: Int) -> String? {
    guard !bytes.isEmpty, bytes.count <= mostBytes, scale.magnitude <= 4 * mostBytes else { return nil }
    let isNegative = bytes[0] >= 0x80
    // Limbs of nine digits, the lowest first.
    var limbs: [UInt64] = [0]
    func add(_ digit: UInt8, shiftedBy bits: Int) {
      var carry = UInt64(digit)
      for index in limbs.indices {
        carry += limbs[index] << bits
        (carry, limbs[index]) = carry.quotientAndRemainder(dividingBy: 1_000_000_000)
      }
      if carry > 0 { limbs.append(carry) }
    }
    for byte in bytes { add(isNegative ? ~byte : byte, shiftedBy: 8) }
    if isNegative { add(1, shiftedBy: 0) }
    var digits = "\(limbs.removeLast())"
    for limb in limbs.reversed() { digits += "\(1_000_000_000 + limb)".dropFirst() }
    if scale < 0, digits != "0" { digits += String(repeating: "0", count: -scale) }
    if scale > 0 {
      if digits.count <= scale { digits = String(repeating: "0", count: scale + 1 - digits.count) + digits }
      digits.insert(".", at: digits.index(digits.endIndex, offsetBy: -scale))
    }
    return (isNegative ? "-" : "") + digits
  }

  /// Converts a database's spelling of a decimal to JSON's; nil if the text is not a decimal.
  static func number(_ text: ByteSpan) -> String? {
    var rest = text.buffer[...]
    func digits() -> String {
      let digits = rest.prefix { $0 &- 0x30 < 10 }
      rest = rest[digits.endIndex...]
      return String(decoding: digits, as: UTF8.self)
    }
    func passes(_ bytes: UInt8...) -> UInt8? {
      rest.first.flatMap { bytes.contains($0) ? rest.removeFirst() : nil }
    }
    func sign() -> String { passes(UInt8(ascii: "-"), UInt8(ascii: "+")) == UInt8(ascii: "-") ? "-" : "" }
    let minus = sign()
    let whole = digits()
    let fraction = passes(UInt8(ascii: ".")) == nil ? "" : digits()
    if whole.isEmpty && fraction.isEmpty { return nil }
    let significant = whole.drop { $0 == "0" }
    var number = "\(minus)\(significant.isEmpty ? "0" : significant)\(fraction.isEmpty ? "" : ".")\(fraction)"
    if passes(UInt8(ascii: "e"), UInt8(ascii: "E")) != nil {
      number += "e" + sign()
      let exponent = digits()
      if exponent.isEmpty { return nil }
      number += exponent
    }
    return rest.isEmpty ? number : nil
  }
}

/// Detects an `order` by decimals that are bytes in Base64, which do not sort by value.
struct OrderCheck {
  /// The row's members in `order`.
  private let keys: [JSONPointer]
  private var rows = 0
  private var hasPadding = false
  private var isDecided: Bool
  private var isWarning = false

  private static let mostRows = 20
  private static let lengths = 4...64

  init(_ source: IngestSource) {
    keys = source.order.map { JSONPointer(tokens: source.data.pointer.tokens + $0.by.tokens) }
    isDecided = keys.isEmpty
  }

  /// Whether the order uses a member.
  func uses(_ pointer: JSONPointer) -> Bool { keys.contains { $0.tokens.starts(with: pointer.tokens) } }

  mutating func takeWarning() -> Bool {
    defer { isWarning = false }
    return isWarning
  }

  /// Checks one of the first rows.
  mutating func note(_ row: Row, _ decimals: Decimals, arena: ScratchArena) {
    if isDecided { return }
    rows += 1
    isDecided = true
    guard let key = keys.first, decimals.at(key) == .none, let field = row.find(key),
      row.text.character(field.first) == UInt8(ascii: "\"")
    else { return }
    let text = row.text.string(field.first, arena: arena)
    guard Self.lengths.contains(text.count), Data(base64Encoded: Data(text.buffer)) != nil else { return }
    if text[text.count - 1] == UInt8(ascii: "=") { hasPadding = true }
    isDecided = rows == Self.mostRows
    isWarning = isDecided && hasPadding
  }
}
