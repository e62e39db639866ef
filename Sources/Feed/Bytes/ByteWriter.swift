import Glibc

/// The destination of encoded text: a buffer, or a counter of its size.
///
/// The same code encodes to both, so the count cannot differ from the text.
protocol ByteSink {
  mutating func append(_ byte: UInt8)
  mutating func append(_ bytes: ByteSpan)
  mutating func append(_ text: StaticString)
  /// Appends a string in quotes, escaping only what JSON requires.
  mutating func append(quoted text: ByteSpan)
  /// Appends a string in quotes if the caller knows whether it needs escapes.
  mutating func append(quoted text: ByteSpan, needsEscapes: Bool)
  mutating func append(decimal value: Int)
}

extension ByteSink {
  /// Appends an element's identifier in quotes.
  @inline(__always)
  mutating func append(idOf handle: ElementHandle, in table: ElementTable) {
    append(quoted: table.id(handle), needsEscapes: table[handle].needsEscapes)
  }
}

extension ByteWriter: ByteSink {}

/// A growable buffer that output is appended to.
public final class ByteWriter {
  @exclusivity(unchecked) @usableFromInline var base: UnsafeMutablePointer<UInt8>
  @exclusivity(unchecked) @usableFromInline var capacity: Int
  /// Number of bytes written.
  @exclusivity(unchecked) public private(set) var count = 0

  public init(capacity: Int = 4096) {
    self.capacity = max(capacity, 64)
    base = UnsafeMutablePointer.allocate(capacity: self.capacity)
  }

  deinit { base.deallocate() }

  /// Discards the contents; memory beyond `keepCapacity` bytes is released.
  public func removeAll(keepCapacity: Int = 16 << 20) {
    count = 0
    guard capacity > keepCapacity else { return }
    base.deallocate()
    capacity = max(keepCapacity, 64)
    base = UnsafeMutablePointer.allocate(capacity: capacity)
  }

  public func span(_ range: Range<Int>) -> ByteSpan {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    return ByteSpan(UnsafePointer(base + range.lowerBound), range.count)
  }

  public var written: ByteSpan { ByteSpan(UnsafePointer(base), count) }

  @inline(__always)
  func reserve(_ extra: Int) {
    if count &+ extra > capacity { grow(extra) }
  }

  @inline(never)
  private func grow(_ extra: Int) {
    let newCapacity = max(capacity * 2, count + extra)
    let moved = UnsafeMutablePointer<UInt8>.allocate(capacity: newCapacity)
    moved.update(from: base, count: count)
    base.deallocate()
    base = moved
    capacity = newCapacity
  }

  @inline(__always)
  public func append(_ byte: UInt8) {
    reserve(1)
    base[count] = byte
    count &+= 1
  }

  @inline(__always)
  public func append(_ bytes: ByteSpan) {
    reserve(bytes.count)
    ByteWriter.copy(bytes.base, to: base + count, bytes.count)
    count &+= bytes.count
  }

  /// Appends bytes between two copies of another byte.
  @inline(__always)
  func append(_ bytes: ByteSpan, between byte: UInt8) {
    reserve(bytes.count &+ 2)
    let target = base + count
    target[0] = byte
    ByteWriter.copy(bytes.base, to: target + 1, bytes.count)
    target[bytes.count &+ 1] = byte
    count &+= bytes.count &+ 2
  }

  /// Discards the contents from an offset on.
  func truncate(to count: Int) {
    precondition(count >= 0 && count <= self.count)
    self.count = count
  }

  /// Most texts have 4 to 16 bytes, and are copied in two overlapping words.
  @inline(__always)
  private static func copy(
    _ source: UnsafePointer<UInt8>,
    to target: UnsafeMutablePointer<UInt8>,
    _ count: Int
  ) {
    guard count >= 4, count <= 16 else {
      memcpy(target, source, count)
      return
    }
    let (source, target) = (UnsafeRawPointer(source), UnsafeMutableRawPointer(target))
    guard count >= 8 else {
      let first = source.loadUnaligned(as: UInt32.self)
      let last = source.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)
      target.storeBytes(of: first, as: UInt32.self)
      target.storeBytes(of: last, toByteOffset: count &- 4, as: UInt32.self)
      return
    }
    let first = source.loadUnaligned(as: UInt64.self)
    let last = source.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
    target.storeBytes(of: first, as: UInt64.self)
    target.storeBytes(of: last, toByteOffset: count &- 8, as: UInt64.self)
  }

  @inline(__always)
  public func append(_ text: StaticString) {
    let length = text.utf8CodeUnitCount
    reserve(length)
    memcpy(base + count, text.utf8Start, length)
    count &+= length
  }

  /// Not named `append`, because literals would then choose this method instead of the one for static texts.
  public func append(string text: String) {
    var text = text
    text.withUTF8 { append(ByteSpan(UnsafeRawBufferPointer($0))) }
  }

  /// Appends a number in decimal.
  @inline(__always)
  public func append(decimal value: UInt64) {
    guard value < 1000 else { return appendLong(value) }
    reserve(4)
    let number = UInt32(truncatingIfNeeded: value)
    if number >= 100 { put(UInt8(truncatingIfNeeded: number / 100)) }
    if number >= 10 { put(UInt8(truncatingIfNeeded: number / 10 % 10)) }
    put(UInt8(truncatingIfNeeded: number % 10))
  }

  /// Appends a digit if there is room for it.
  @inline(__always)
  private func put(_ digit: UInt8) {
    base[count] = digit &+ 0x30
    count &+= 1
  }

  @inline(never)
  private func appendLong(_ value: UInt64) { append(decimal: value, width: ByteWriter.digits(value)) }

  /// The number of decimal digits of a number.
  static func digits(_ value: UInt64) -> Int {
    var digits = 1
    var bound: UInt64 = 10
    while digits < 20, value >= bound {
      digits += 1
      bound = bound &* 10
    }
    return digits
  }

  /// The number of decimal digits of a number >= 0.
  static func digits(_ value: Int) -> Int { digits(UInt64(value)) }

  @inline(__always)
  public func append(decimal value: Int) {
    if value < 0 { append(UInt8(ascii: "-")) }
    append(decimal: UInt64(value.magnitude))
  }

  /// Appends a number in decimal with leading zeros to `width` digits.
  public func append(decimal value: UInt64, width: Int) {
    reserve(width)
    var rest = value
    var at = count + width
    count += width
    for _ in 0..<width {
      at -= 1
      base[at] = UInt8(truncatingIfNeeded: rest % 10) &+ 0x30
      rest /= 10
    }
  }

  /// Appends eight lower-case hexadecimal digits.
  public func append(hexadecimal value: UInt32) {
    reserve(8)
    for shift in stride(from: UInt32(28), through: 0, by: -4) {
      let digit = UInt8(truncatingIfNeeded: (value >> shift) & 15)
      base[count] = digit < 10 ? digit &+ 0x30 : digit &+ 0x57
      count += 1
    }
  }
}

/// Counts the bytes of a text instead of writing it.
struct ByteCounter: ByteSink {
  private(set) var count = 0

  mutating func append(_ byte: UInt8) { count += 1 }
  mutating func append(_ bytes: ByteSpan) { count += bytes.count }
  mutating func append(_ text: StaticString) { count += text.utf8CodeUnitCount }
  mutating func append(quoted text: ByteSpan) { count += JSONString.quotedCount(text) }
  mutating func append(quoted text: ByteSpan, needsEscapes: Bool) {
    count += needsEscapes ? JSONString.quotedCount(text) : text.count + 2
  }
  @inline(__always)
  mutating func append(decimal value: Int) {
    count += (value < 0 ? 1 : 0) + ByteWriter.digits(UInt64(value.magnitude))
  }
}
