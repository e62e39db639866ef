import Oracle
import Testing

@testable import Feed

/// Comparison of items' keys, against the values from which they were spelled.
struct SortKeyTests {
  /// A value in a form with a plain comparison.
  private enum Value: Equatable {
    case `false`, `true`
    /// 30 digits before the point and 30 after it.
    case number(isNegative: Bool, digits: [UInt8])
    case string([UInt8])
    case none

    var rank: Int {
      switch self {
      case .false: 0
      case .true: 1
      case .number: 2
      case .string: 3
      case .none: 4
      }
    }

    func compare(_ other: Value, isDescending: Bool) -> Int {
      if self == .none || other == .none { return self == other ? 0 : self == .none ? 1 : -1 }
      let result = compare(other)
      return isDescending ? -result : result
    }

    private func compare(_ other: Value) -> Int {
      switch (self, other) {
      case (.number(let isNegative, let digits), .number(let isOtherNegative, let others)):
        if isNegative != isOtherNegative { return isNegative ? -1 : 1 }
        if digits == others { return 0 }
        return digits.lexicographicallyPrecedes(others) == isNegative ? 1 : -1
      case (.string(let one), .string(let two)):
        return one == two ? 0 : one.lexicographicallyPrecedes(two) ? -1 : 1
      default: return rank == other.rank ? 0 : rank < other.rank ? -1 : 1
      }
    }
  }

  private static func number(_ random: inout SplitMix64) -> (Value, String) {
    let places = 30
    var digits = [UInt8](repeating: 0, count: 2 * places)
    let first = random.below(40) + 10
    for index in 0..<random.pick([1, 1, 2, 5, 18]) where first + index < digits.count {
      digits[first + index] = UInt8(random.below(random.pick([2, 10])))
    }
    let isZero = digits.allSatisfy { $0 == 0 }
    let isNegative = random.chance(30)
    // The point moves, and the exponent compensates.
    var text = digits.map { "\($0)" }.joined()
    let point = random.pick([places, places, 1 + random.below(digits.count - 1)])
    let (whole, fraction) = (text.prefix(point).drop { $0 == "0" }, text.dropFirst(point))
    text = whole.isEmpty ? "0" : String(whole)
    var end = fraction[...]
    if random.chance(70) { while end.last == "0" { end.removeLast() } }
    if !end.isEmpty { text += "." + end }
    let exponent = places - point
    if exponent != 0 || random.chance(20) {
      let sign = exponent < 0 ? "-" : random.chance(50) ? "+" : ""
      text += (random.chance(50) ? "e" : "E") + sign + random.pick(["", "0", "000"]) + "\(abs(exponent))"
    }
    return (.number(isNegative: isNegative && !isZero, digits: digits), (isNegative ? "-" : "") + text)
  }

  private static func string(_ random: inout SplitMix64) -> (Value, String) {
    let characters: [Character] = ["a", "b", "\u{0}", "/", "\"", "\\", "é", "\u{FFFF}", "😀", "\n"]
    let text = String((0..<random.pick([0, 1, 2, 3, 7, 8, 9])).map { _ in random.pick(characters) })
    var spelled = "\""
    for unit in text.unicodeScalars {
      if unit.value < 32 || unit == "\"" || unit == "\\" || random.chance(20) {
        for unit in String(Character(unit)).utf16 {
          let digits = String(unit, radix: 16, uppercase: random.chance(50))
          spelled += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
      } else {
        spelled.unicodeScalars.append(unit)
      }
    }
    return (.string(Array(text.utf8)), spelled + "\"")
  }

  private static func value(_ random: inout SplitMix64) -> (Value, String) {
    switch random.below(10) {
    case 0: (.false, "false")
    case 1: (.true, "true")
    case 2: (.none, random.pick(["null", "[1]", "{}", "[]", "{\"a\":2}"]))
    case 3...6: number(&random)
    default: string(&random)
    }
  }

  private static func order(_ text: String) throws -> SectionOrder {
    try Array(text.utf8).withUnsafeBytes { try SectionOrder(ByteSpan($0)) }
  }

  private static func compare(_ one: String, _ other: String, _ order: SectionOrder) -> Int {
    let result = Array(one.utf8).withUnsafeBytes { one in
      Array(other.utf8).withUnsafeBytes { other in
        let (one, other) = (ByteSpan(one), ByteSpan(other))
        return SortKey.compare(SortKey(one, order), one, SortKey(other, order), other, order)
      }
    }
    return result.signum()
  }

  @Test func `values compare by what they are, however they are spelled`() throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SplitMix64(seed: seed)
    let orders = [false, true].map {
      ($0, $0 ? "[{\"by\":\"\",\"direction\":\"descending\"}]" : "[{\"by\":\"\"}]")
    }
    for (isDescending, text) in orders {
      let order = try Self.order(text)
      for _ in 0..<20_000 {
        let (one, oneText) = Self.value(&random)
        let (other, otherText) = Self.value(&random)
        let expected = one.compare(other, isDescending: isDescending)
        let result = Self.compare(oneText, otherText, order)
        try #require(
          result == expected,
          "seed \(seed): \(oneText) and \(otherText), descending: \(isDescending)"
        )
      }
    }
  }

  @Test func `numbers have no limits`() throws {
    let order = try Self.order("[{\"by\":\"\"}]")
    let long = String(repeating: "9", count: 100_000)
    let ascending = [
      "-1e99999999999999999999", "-1e400", "-1", "-1e-400", "0", "1e-99999999999999999999",
      "1e-18446744073709551616", "1e-9999999999", "1e-400", "1", "9007199254740992", "9007199254740993",
      "9007199254740993.1", "9.99e4094", "1e4095", "9e9999", "1e10000", "1" + long, "2" + long,
      "1e9999999999", "1e99999999999999999", "1e100000000000000000", "1e999999999999999999",
      "1e18446744073709551615", "1e18446744073709551616", "1e18446744073709551617",
    ]
    for (index, one) in ascending.enumerated() {
      for (number, other) in ascending.enumerated() {
        let result = Self.compare(one, other, order)
        #expect(result == (index - number).signum(), "\(one.prefix(30)) and \(other.prefix(30))")
      }
    }
    let equal = [
      ["0", "-0", "0.000", "0e9", "-0.0E-9"], ["1", "1.0", "10e-1", "0.1E+1", "0.0001e4", "1000e-0003"],
      ["1e18446744073709551616", "10e18446744073709551615", "0.01e18446744073709551618"],
      ["1e100000000000000000", "10e99999999999999999", "0.1e100000000000000001"],
      ["1e-100000000000000000", "0.1e-99999999999999999", "10e-100000000000000001"],
    ]
    for (one, other) in equal.flatMap({ group in group.map { (group[0], $0) } }) {
      #expect(Self.compare(one, other, order) == 0, "\(one) and \(other)")
    }
  }

  @Test func `the keys decide one after the other, each in its direction`() throws {
    let order = try Self.order("[{\"by\":\"/score\",\"direction\":\"descending\"},{\"by\":\"/name\"}]")
    let sorted = [
      "{\"score\":9}", "{\"score\":1,\"score\":7,\"name\":\"a\"}", "{\"score\":7.0,\"n\\u0061me\":\"b\"}",
      "{\"name\":\"c\",\"score\":7e0}", "{\"score\":7,\"name\":null}", "{\"score\":-1}", "{\"score\":true}",
      "{\"name\":\"x\"}", "{\"score\":null,\"name\":\"y\"}", "{\"score\":[]}",
    ]
    for (index, one) in sorted.enumerated() {
      for (number, other) in sorted.enumerated() {
        #expect(Self.compare(one, other, order) == (index - number).signum(), "\(one) and \(other)")
      }
    }
  }

  @Test(
    arguments: [
      ("", "{\"a\":1}", "{\"a\":1}"), ("/a", "{\"a\":1}", "1}"),
      ("/a/b", "{\"a\":{\"b\":[2]},\"c\":3}", "[2]},\"c\":3}"),
      ("/a/1", "{\"a\":[{},\"x\"]}", "\"x\"]}"), ("/a/01", "{\"a\":[{},\"x\"]}", nil),
      ("/a/-", "{\"a\":[1]}", nil),
      ("/a/0", "{\"a\":{\"0\":5}}", "5}}"), ("/", "{\"\":1}", "1}"),
      ("/a~1b/m~0n", "{\"a/b\":{\"m~n\":8}}", "8}}"),
      ("/a", "{\"\\u0061\":4}", "4}"), ("/a", "{\"a\":1,\"a\":2}", "2}"),
      ("/a/b", "{\"a\":{\"b\":1},\"a\":{}}", nil),
      ("/a/b", "{\"a\":{\"b\":1},\"a\":7}", nil),
      ("/a/b", "{\"a\":7,\"a\":{\"x\":{\"b\":1},\"b\":9}}", "9}}"),
      ("/a", "[1]", nil), ("/0", "[1]", "1]"), ("/a", "7", nil), ("/b", "{\"a\":{\"b\":1}}", nil),
      ("/99999999999999999999", "[1]", nil),
    ] as [(String, String, String?)]
  )
  func `a pointer finds a value`(pointer: String, text: String, rest: String?) {
    let found: String? = Array(pointer.utf8).withUnsafeBytes { pointer in
      Array(text.utf8).withUnsafeBytes { text in
        JSONPointer(ByteSpan(pointer))?.find(in: ByteSpan(text)).map {
          ByteSpan(UnsafeRawBufferPointer(rebasing: text[$0...])).text
        }
      }
    }
    #expect(found == rest)
  }

  @Test func `deep and large values take one pass`() throws {
    let depth = 10_000
    let deep = String(repeating: "{\"a\":", count: depth) + "1" + String(repeating: "}", count: depth)
    let order = try Self.order("[{\"by\":\"" + String(repeating: "/a", count: 127) + "\"}]")
    #expect(Self.compare(deep, "{}", order) == 0)
    let text = "\"" + String(repeating: "x", count: 1 << 20)
    let whole = try Self.order("[{\"by\":\"\"}]")
    #expect(Self.compare(text + "a\"", text + "b\"", whole) == -1)
  }

  @Test(arguments: [
    "{}", "[]", "[1]", "[{}]", "[{\"by\":1}]", "[{\"by\":\"a\"}]", "[{\"by\":\"/~2\"}]", "[{\"by\":\"/~\"}]",
    "[{\"by\":\"\",\"direction\":\"Ascending\"}]", "[{\"by\":\"\",\"direction\":null}]",
    "[{\"by\":\"\"},{\"by\":\"\"},{\"by\":\"\"},{\"by\":\"\"},{\"by\":\"\"}]", "\"/a\"", "true",
    "[{\"by\":\"/\(String(repeating: "a", count: 255))\"}]",
  ])
  func `another form is no order`(text: String) {
    #expect(throws: SectionOrder.Fault.self) { try Self.order(text) }
  }

  @Test(arguments: [
    ("[{\"by\":\"/a\"}]", "[{\"by\":\"/a\"}]"),
    ("[{\"direction\":\"ascending\",\"x\":[1],\"by\":\"\\/\\u0061\"}]", "[{\"by\":\"/a\"}]"),
    (
      "[{\"direction\":\"descending\",\"by\":\"/q\\\"\"},{\"by\":\"\"}]",
      "[{\"by\":\"/q\\\"\",\"direction\":\"descending\"},{\"by\":\"\"}]"
    ),
    ("[{\"by\":7,\"by\":\"\"}]", "[{\"by\":\"\"}]"),
  ])
  func `an order has one spelling`(given: String, canonical: String) throws {
    let order = try Self.order(given)
    #expect(withExtendedLifetime(order.text) { $0.span.text } == canonical)
  }
}
