/// Writes JSON as careless producers do: with unnecessary escapes and white space.
struct Speller {
  var random: SplitMix64
  let isPlain: Bool

  init(seed: UInt64, isPlain: Bool) {
    random = SplitMix64(seed: seed)
    self.isPlain = isPlain
  }

  /// White space, or usually none.
  mutating func space() -> String {
    if isPlain || !random.chance(8) { return "" }
    return random.pick([" ", "  ", "\n", "\t", "\r\n "])
  }

  /// A string with this text, with required and some unnecessary escapes.
  mutating func string(_ text: String) -> String {
    var spelled = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": spelled += "\\\""
      case "\\": spelled += "\\\\"
      case "\n" where random.chance(50): spelled += "\\n"
      case "\t" where random.chance(50): spelled += "\\t"
      case "/" where random.chance(20): spelled += "\\/"
      default:
        if scalar.value < 0x20 || (!isPlain && random.chance(3)) {
          spelled += escape(scalar)
        } else {
          spelled.unicodeScalars.append(scalar)
        }
      }
    }
    return spelled + "\""
  }

  private mutating func escape(_ scalar: UnicodeScalar) -> String {
    String(scalar).utf16.map { unit in
      let digits = String(unit, radix: 16, uppercase: random.chance(50))
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }.joined()
  }

  mutating func array(_ elements: [String]) -> String {
    let inner = elements.map { "\(space())\($0)\(space())" }.joined(separator: ",")
    return "[\(inner)\(space())]"
  }

  /// An object with these members, whose values are already JSON.
  mutating func object(_ members: [(name: String, value: String)]) -> String {
    let inner = members.map { member in
      "\(space())\(string(member.name))\(space()):\(space())\(member.value)\(space())"
    }
    return "{\(inner.joined(separator: ","))\(space())}"
  }

  /// Some data: any JSON value, nested up to `depth`.
  mutating func data(depth: Int = 3) -> String {
    let scalars = [
      "null", "true", "false", "0", "1", "2", "-1", "10", "\"\"", "\"x\"", "\"y\"", "\"Title\"",
    ]
    let oddScalars = [
      "1e400", "-0", "1.10", "1.1", "1.0", "1E+2", "-0.0e-0", "123456789012345678901234567890",
      "18446744073709551616", "0.1000000000000000055511151231257827", "\"\\u00e9\"", "\"é\"", "\"e\u{301}\"",
      "\"\\/\"", "\"\\ud83d\\uDE00\"", "\"😀\"", "\"\\u0000\"", "\"\\\"\\\\\\b\\f\\n\\r\\t\"",
      "\"\u{7f}\u{2028}\"",
    ]
    if depth > 0, random.chance(50) { return object(members(depth: depth - 1)) }
    if depth > 0, random.chance(15) {
      return array((0..<random.below(4)).map { _ in data(depth: depth - 1) })
    }
    return random.pick(isPlain || random.chance(60) ? scalars : oddScalars)
  }

  private mutating func members(depth: Int) -> [(name: String, value: String)] {
    let names = isPlain ? ["a", "b", "c"] : ["a", "b", "c", "é", "e\u{301}", "", "a b", "\"", "\u{1}"]
    return (0..<random.below(4)).map { _ in (random.pick(names), data(depth: depth)) }
  }
}
