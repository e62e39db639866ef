/// The exact value of a JSON number with any number of digits.
///
/// It is 0.d₁d₂d₃… × 10^exponent, where the digits have no zeros at either end. 0 has no digits, and no sign.
public struct OracleNumber: Sendable, Equatable, Comparable {
  private let isNegative: Bool
  private let digits: [UInt8]
  private let exponent: OracleInteger

  /// - Parameter spelling: a valid JSON number.
  public init(_ spelling: [UInt8]) {
    let isNegative = spelling.first == UInt8(ascii: "-")
    let halves = spelling.dropFirst(isNegative ? 1 : 0).split(maxSplits: 1) { "eE".utf8.contains($0) }
    let whole = halves[0].prefix { $0 != UInt8(ascii: ".") }
    let fraction = halves[0].dropFirst(whole.count + 1)
    let zeros = (whole + fraction).prefix { $0 == UInt8(ascii: "0") }.count
    var digits = Array((whole + fraction).dropFirst(zeros))
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    let isZero = digits.isEmpty
    let counted = keeps(.zerosAfterPoint) ? zeros : min(zeros, whole.count)
    let shift = OracleInteger(Array("\(whole.count - counted)".utf8))
    let exact = halves.count > 1 ? OracleInteger(Array(halves[1])) : .zero
    let short = halves.count > 1 ? Int(String(decoding: halves[1].drop { $0 == 0x2B }, as: UTF8.self)) : 0
    let most = halves.last?.first == UInt8(ascii: "-") ? Int.min : Int.max
    let written = keeps(.exponentOfAnyLength) ? exact : OracleInteger(Array("\(short ?? most)".utf8))
    self.isNegative = isNegative && !isZero
    self.digits = digits
    exponent = isZero ? .zero : written + shift
  }

  public static func < (left: Self, right: Self) -> Bool {
    if left.isNegative != right.isNegative { return left.isNegative }
    return left.isNegative ? right.isNearerZero(than: left) : left.isNearerZero(than: right)
  }

  /// Compares without signs.
  private func isNearerZero(than other: OracleNumber) -> Bool {
    if digits.isEmpty || other.digits.isEmpty { return digits.isEmpty && !other.digits.isEmpty }
    if exponent != other.exponent { return exponent < other.exponent }
    return digits.lexicographicallyPrecedes(other.digits)
  }
}

/// An integer of any length, in decimal.
struct OracleInteger: Sendable, Equatable, Comparable {
  static let zero = OracleInteger(isNegative: false, digits: [])

  private let isNegative: Bool
  /// 0 to 9, without zeros before the others; none for the number 0.
  private let digits: [UInt8]

  private init(isNegative: Bool, digits: [UInt8]) {
    self.digits = Array(digits.drop { $0 == 0 })
    self.isNegative = isNegative && !self.digits.isEmpty
  }

  /// - Parameter spelling: decimal digits, after a sign or none.
  init(_ spelling: [UInt8]) {
    let digits = spelling.drop { "+-".utf8.contains($0) }.map { $0 - UInt8(ascii: "0") }
    self.init(isNegative: spelling.first == UInt8(ascii: "-"), digits: digits)
  }

  static func < (left: Self, right: Self) -> Bool {
    if left.isNegative != right.isNegative { return left.isNegative }
    return left.isNegative ? right.isNearerZero(than: left) : left.isNearerZero(than: right)
  }

  static func + (left: Self, right: Self) -> Self {
    if left.isNegative == right.isNegative {
      return OracleInteger(isNegative: left.isNegative, digits: sum(left.digits, right.digits))
    }
    let (less, more) = left.isNearerZero(than: right) ? (left, right) : (right, left)
    return OracleInteger(isNegative: more.isNegative, digits: difference(more.digits, less.digits))
  }

  /// Compares without signs.
  private func isNearerZero(than other: OracleInteger) -> Bool {
    if digits.count != other.digits.count { return digits.count < other.digits.count }
    return digits.lexicographicallyPrecedes(other.digits)
  }

  private static func sum(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
    var sum: [UInt8] = []
    var carry: UInt8 = 0
    for place in 0...max(left.count, right.count) {
      let digit = self.digit(left, place) + self.digit(right, place) + carry
      sum.append(digit % 10)
      carry = digit / 10
    }
    return sum.reversed()
  }

  private static func difference(_ more: [UInt8], _ less: [UInt8]) -> [UInt8] {
    var difference: [UInt8] = []
    var borrowed: UInt8 = 0
    for place in 0..<more.count {
      let digit = 10 + self.digit(more, place) - self.digit(less, place) - borrowed
      difference.append(digit % 10)
      borrowed = digit < 10 ? 1 : 0
    }
    return difference.reversed()
  }

  /// The digit at a place, counted from the last.
  private static func digit(_ digits: [UInt8], _ place: Int) -> UInt8 {
    place < digits.count ? digits[digits.count - 1 - place] : 0
  }
}
