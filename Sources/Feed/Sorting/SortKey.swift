import CXxhash
import Glibc

/// The sort key of an item: the positions of its values in its data, and the beginning of the first.
///
/// 24 bytes. The values are found once for each change of the data, and most comparisons only read `prefix`.
struct SortKey: Equatable {
  /// The offset of a missing value: absent, `null`, an array or an object.
  private static let none = UInt32.max

  /// Decides most comparisons: the item with the lesser one is first. If both are equal, the values decide.
  private(set) var prefix: UInt64 = 0
  private var offsets = InlineArray<4, UInt32>(repeating: none)

  /// - Parameter data: valid JSON without white space.
  init(_ data: ByteSpan, _ order: SectionOrder) {
    for (number, key) in order.keys.enumerated() {
      let value = SortValue(data, at: key.pointer.find(in: data))
      if value.kind != .none { offsets[number] = UInt32(value.text.base - data.base) }
      if number == 0 { prefix = value.prefix(isDescending: key.isDescending) }
    }
  }

  static func == (one: SortKey, other: SortKey) -> Bool {
    one.prefix == other.prefix && (0..<4).allSatisfy { one.offsets[$0] == other.offsets[$0] }
  }

  private func value(_ number: Int, in data: ByteSpan) -> SortValue {
    SortValue(data, at: offsets[number] == Self.none ? nil : Int(offsets[number]))
  }

  /// Compares two items' keys: less than 0 if the first item precedes the second, 0 if all values are equal.
  static func compare(
    _ left: SortKey,
    _ leftData: @autoclosure () -> ByteSpan,
    _ right: SortKey,
    _ rightData: @autoclosure () -> ByteSpan,
    _ order: SectionOrder
  ) -> Int {
    if left.prefix != right.prefix { return left.prefix < right.prefix ? -1 : 1 }
    let (leftData, rightData) = (leftData(), rightData())
    for (number, key) in order.keys.enumerated() {
      let (one, other) = (left.value(number, in: leftData), right.value(number, in: rightData))
      let result = one.compare(other)
      if result == 0 { continue }
      // Values that cannot be compared are last in either direction.
      return key.isDescending && one.kind != .none && other.kind != .none ? -result : result
    }
    return 0
  }
}

/// The keys of a feed's items by their handles; allocated when a section becomes ordered.
struct SortKeys: ~Copyable {
  private var keys: UnsafeMutablePointer<SortKey>?
  private var capacity = 0

  deinit { free(keys) }

  /// Only for items with a key.
  subscript(item: ElementHandle) -> SortKey {
    get { keys.unsafelyUnwrapped[item.index] }
    set {
      if item.index >= capacity { grow(to: max(item.index + 1, capacity * 2)) }
      keys.unsafelyUnwrapped[item.index] = newValue
    }
  }

  /// Loads the key of an item of an ordered section.
  @inline(__always)
  func prefetch(_ item: ElementHandle) { feedstore_prefetch(keys.unsafelyUnwrapped + item.index) }

  /// Does not touch the memory of items without a key, so that the system need not provide most of it.
  private mutating func grow(to count: Int) {
    guard let memory = realloc(keys, count * MemoryLayout<SortKey>.stride) else {
      fatalError("out of memory")
    }
    HugePages.prefer(memory, count * MemoryLayout<SortKey>.stride)
    (keys, capacity) = (memory.assumingMemoryBound(to: SortKey.self), count)
  }
}

/// Some items of an ordered section in order, with the beginnings of their keys: where searches begin.
///
/// A tree of a million items has ten thousand leaves, and a search from its root would visit dozens of items
/// that are in no cache; this array has one item of each leaf. It is not kept up to date: the key of a moved
/// item differs, and after as many of these as landmarks, searches rebuild the array.
final class Landmarks {
  private(set) var items: [(prefix: UInt64, handle: ElementHandle)] = []
  private var steps = 0

  /// The number of leaves that a search may pass before it adds a landmark.
  static let mostPassedLeaves = 2

  /// Whether searches have taken about as many extra steps as a new array costs.
  var areWorn: Bool { steps > items.count + 64 }

  /// Adds the steps of a search that better landmarks would have avoided.
  func wear(by count: Int) { steps += count }

  func append(_ item: ElementHandle, _ prefix: UInt64) { items.append((prefix, item)) }

  /// - Parameter number: the number of landmarks with a lesser prefix.
  func insert(_ item: ElementHandle, _ prefix: UInt64, at number: Int) {
    items.insert((prefix, item), at: number)
  }

  /// The number of landmarks with a lesser prefix.
  func count(below prefix: UInt64) -> Int {
    var (low, high) = (0, items.count)
    while low < high {
      let middle = (low + high) / 2
      if items[middle].prefix < prefix { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// A JSON value as a key: `false` < `true` < numbers < strings < everything else.
struct SortValue {
  enum Kind: UInt64 {
    case `false`, `true`, number, string, none
  }

  let kind: Kind
  /// The value, with the text after it.
  fileprivate let text: ByteSpan

  /// - Parameter offset: the offset of the value; nil if it does not exist.
  init(_ data: ByteSpan, at offset: Int?) {
    text = offset.map { ByteSpan(data.base + $0, data.count - $0) } ?? .empty
    guard !text.isEmpty else {
      kind = .none
      return
    }
    switch text[0] {
    case UInt8(ascii: "f"): kind = .false
    case UInt8(ascii: "t"): kind = .true
    case UInt8(ascii: "\""): kind = .string
    case UInt8(ascii: "-"), 0x30...0x39: kind = .number
    default: kind = .none
    }
  }

  /// The string between its quotes.
  private var string: UnescapedBytes {
    var scanner = JSONScanner(text)
    return UnescapedBytes(ByteSpan(text.base + 1, scanner.endOfString(0) - 2))
  }

  func compare(_ other: SortValue) -> Int {
    if kind != other.kind { return kind.rawValue < other.kind.rawValue ? -1 : 1 }
    switch kind {
    case .number: return DecimalNumber(text).compare(DecimalNumber(other.text))
    case .string: return string.compare(other.string)
    case .false, .true, .none: return 0
    }
  }

  private static let payloadBits: UInt64 = 61
  private static let payloadMask: UInt64 = 1 << payloadBits - 1

  /// The value's kind and beginning as a number: a lesser value has a lesser or the same prefix.
  func prefix(isDescending: Bool) -> UInt64 {
    let payload: UInt64
    switch kind {
    case .false, .true: payload = 0
    case .number: payload = DecimalNumber(text).prefix
    case .string:
      var bytes = string
      payload = (0..<7).reduce(0) { word, _ in word << 8 | UInt64(bytes.next() ?? 0) }
    case .none: return Kind.none.rawValue << Self.payloadBits
    }
    if !isDescending { return kind.rawValue << Self.payloadBits | payload }
    return (Kind.string.rawValue - kind.rawValue) << Self.payloadBits | (Self.payloadMask - payload)
  }
}

/// A JSON number by its exact value, independent of its spelling: 0.d₁d₂d₃… × 10^exponent.
private struct DecimalNumber {
  private let isNegative: Bool
  /// The digits from the first nonzero one, perhaps with a point; empty for zero.
  private let digits: ByteSpan
  private let exponent: DecimalExponent

  /// - Parameter text: the number, with the text after it.
  init(_ text: ByteSpan) {
    isNegative = text[0] == UInt8(ascii: "-")
    var at = isNegative ? 1 : 0
    var start: Int?
    var point: Int?
    while at < text.count, text[at] == UInt8(ascii: ".") || (0x30...0x39).contains(text[at]) {
      if text[at] == UInt8(ascii: ".") {
        point = at
      } else if start == nil, text[at] != UInt8(ascii: "0") {
        start = at
      }
      at += 1
    }
    guard let start else {
      digits = .empty
      exponent = DecimalExponent(ByteSpan.empty, plus: 0)
      return
    }
    digits = ByteSpan(text.base + start, at - start)
    let pointAt = point ?? at
    // Digits before the point raise the exponent; leading zeros after it lower the exponent.
    let shift = start < pointAt ? pointAt - start : pointAt + 1 - start
    var written = ByteSpan.empty
    if at < text.count, text[at] | 0x20 == UInt8(ascii: "e") {
      at += 1
      let begin = at
      while at < text.count,
        text[at] == UInt8(ascii: "-") || text[at] == UInt8(ascii: "+")
          || (0x30...0x39).contains(text[at])
      { at += 1 }
      written = ByteSpan(text.base + begin, at - begin)
    }
    exponent = DecimalExponent(written, plus: shift)
  }

  private var isZero: Bool { digits.isEmpty }
  private var sign: Int { isZero ? 0 : isNegative ? -1 : 1 }

  func compare(_ other: DecimalNumber) -> Int {
    if sign != other.sign { return sign < other.sign ? -1 : 1 }
    if isZero { return 0 }
    let byExponent = exponent.compare(other.exponent)
    let magnitude = byExponent != 0 ? byExponent : compareDigits(other)
    return isNegative ? -magnitude : magnitude
  }

  private func compareDigits(_ other: DecimalNumber) -> Int {
    var (one, two) = (Digits(digits), Digits(other.digits))
    while !one.isAtEnd || !two.isAtEnd {
      let (left, right) = (one.next(), two.next())
      if left != right { return left < right ? -1 : 1 }
    }
    return 0
  }

  private static let prefixDigits = 14
  private static let digitBits: UInt64 = 47
  private static let greatestExponent: Int64 = 4_094

  /// 61 bits: sign, exponent and 14 digits. All numbers with larger exponents have the same prefix.
  var prefix: UInt64 {
    let middle: UInt64 = 1 << 60
    if isZero { return middle }
    var iterator = Digits(digits)
    let leading = (0..<Self.prefixDigits).reduce(UInt64(0)) { sum, _ in sum * 10 + UInt64(iterator.next()) }
    let magnitude: UInt64
    switch exponent.limited {
    case ..<(-Self.greatestExponent): magnitude = 0
    case (Self.greatestExponent + 1)...: magnitude = UInt64(2 * Self.greatestExponent + 2) << Self.digitBits
    case let exponent: magnitude = UInt64(exponent + Self.greatestExponent + 1) << Self.digitBits | leading
    }
    return isNegative ? middle - magnitude : middle + magnitude
  }

  /// The digits of a number one by one, without the point, followed by zeros.
  private struct Digits {
    private let text: ByteSpan
    private var at = 0

    init(_ text: ByteSpan) { self.text = text }

    var isAtEnd: Bool { at >= text.count }

    mutating func next() -> UInt8 {
      if !isAtEnd, text[at] == UInt8(ascii: ".") { at += 1 }
      guard !isAtEnd else { return UInt8(ascii: "0") - 0x30 }
      defer { at += 1 }
      return text[at] - 0x30
    }
  }
}

/// A decimal exponent of any length, and a number of places added to it.
private struct DecimalExponent {
  /// The maximum number of digits for arithmetic; longer exponents are compared digit by digit.
  private static let mostDigits = 17

  private let isNegative: Bool
  /// The digits if they do not fit into `value`, which then is the least or greatest integer; else empty.
  private let digits: [UInt8]
  private let value: Int64

  init(_ written: ByteSpan, plus shift: Int) {
    let isWrittenNegative = !written.isEmpty && written[0] == UInt8(ascii: "-")
    let significant = written.buffer.drop { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") }
      .drop { $0 == UInt8(ascii: "0") }
    if significant.count <= Self.mostDigits {
      let number = significant.reduce(Int64(0)) { $0 * 10 + Int64($1 - 0x30) }
      value = (isWrittenNegative ? -number : number) + Int64(shift)
      isNegative = value < 0
      digits = []
      return
    }
    // The shift is less than this number: the sign stays.
    isNegative = isWrittenNegative
    var sum = significant.map { $0 - 0x30 }
    var carry = isWrittenNegative ? -shift : shift
    for index in sum.indices.reversed() where carry != 0 {
      let total = Int(sum[index]) + carry
      let digit = ((total % 10) + 10) % 10
      sum[index] = UInt8(digit)
      carry = (total - digit) / 10
    }
    if carry > 0 { sum.insert(UInt8(carry), at: 0) }
    sum = Array(sum.drop { $0 == 0 })
    if sum.count <= Self.mostDigits + 1 {
      let number = sum.reduce(Int64(0)) { $0 * 10 + Int64($1) }
      (digits, value) = ([], isWrittenNegative ? -number : number)
    } else {
      (digits, value) = (sum, isWrittenNegative ? .min : .max)
    }
  }

  /// The exponent; the least or the greatest number if it does not fit.
  var limited: Int64 { value }

  func compare(_ other: DecimalExponent) -> Int {
    if value != other.value || digits.isEmpty && other.digits.isEmpty {
      return value < other.value ? -1 : value > other.value ? 1 : 0
    }
    if digits.count != other.digits.count {
      return (digits.count < other.digits.count) == isNegative ? 1 : -1
    }
    if digits == other.digits { return 0 }
    return digits.lexicographicallyPrecedes(other.digits) == isNegative ? 1 : -1
  }
}

extension UnescapedBytes {
  func compare(_ other: UnescapedBytes) -> Int {
    let escape = UInt8(ascii: "\\")
    if !raw.contains(escape), !other.raw.contains(escape) {
      return raw.hasSameBytes(as: other.raw) ? 0 : raw.precedes(other.raw) ? -1 : 1
    }
    var (one, two) = (self, other)
    while true {
      let (left, right) = (one.next(), two.next())
      guard let left else { return right == nil ? 0 : -1 }
      guard let right else { return 1 }
      if left != right { return left < right ? -1 : 1 }
    }
  }
}
