import Glibc

/// A view of bytes that another object owns, valid as long as the owner documents.
///
/// The data path works on spans, so identifiers and data of a record are not copied until they are stored.
public struct ByteSpan: @unchecked Sendable {
  public let base: UnsafePointer<UInt8>
  public let count: Int

  @inlinable
  public init(_ base: UnsafePointer<UInt8>, _ count: Int) {
    self.base = base
    self.count = count
  }

  @inlinable
  public init(_ buffer: UnsafeRawBufferPointer) {
    self.base = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? ("" as StaticString).utf8Start
    self.count = buffer.count
  }

  @inlinable
  public init(_ text: StaticString) {
    self.base = text.utf8Start
    self.count = text.utf8CodeUnitCount
  }

  /// An empty span.
  @inlinable
  public static var empty: ByteSpan { ByteSpan("" as StaticString) }

  @inlinable
  public var isEmpty: Bool { count == 0 }

  @inlinable
  public subscript(index: Int) -> UInt8 { base[index] }

  @inlinable
  public var buffer: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: base, count: count) }

  @inlinable
  public var rawBuffer: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  /// Whether both have the same bytes.
  @inline(__always)
  public func hasSameBytes(as other: ByteSpan) -> Bool {
    guard count == other.count else { return false }
    let (left, right) = (UnsafeRawPointer(base), UnsafeRawPointer(other.base))
    // Most identifiers are short: two words, which may overlap, cover them.
    switch count {
    case 8...16:
      let first = left.loadUnaligned(as: UInt64.self) ^ right.loadUnaligned(as: UInt64.self)
      let end = count &- 8
      let last =
        left.loadUnaligned(fromByteOffset: end, as: UInt64.self)
        ^ right.loadUnaligned(fromByteOffset: end, as: UInt64.self)
      return first | last == 0
    case 4...7:
      let first = left.loadUnaligned(as: UInt32.self) ^ right.loadUnaligned(as: UInt32.self)
      let end = count &- 4
      let last =
        left.loadUnaligned(fromByteOffset: end, as: UInt32.self)
        ^ right.loadUnaligned(fromByteOffset: end, as: UInt32.self)
      return first | last == 0
    default: return memcmp(left, right, count) == 0
    }
  }

  /// A copy in a separate block; freed with `free`.
  func copied() -> UnsafeMutablePointer<UInt8> {
    guard let memory = malloc(max(count, 1)) else { fatalError("out of memory") }
    memcpy(memory, base, count)
    return memory.assumingMemoryBound(to: UInt8.self)
  }

  @inline(__always)
  package func matches(_ text: StaticString) -> Bool {
    count == text.utf8CodeUnitCount && memcmp(base, text.utf8Start, count) == 0
  }

  /// The number of bytes among the eight at `offset` that come before the first quote or backslash.
  @inline(__always)
  func bytesBeforeQuoteOrBackslash(_ offset: Int) -> Int {
    let word = UnsafeRawPointer(base + offset).loadUnaligned(as: UInt64.self)
    // The classic test for a zero byte, on the word with the searched byte cleared everywhere.
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    let quotes = word ^ (ones &* 0x22)
    let backslashes = word ^ (ones &* 0x5C)
    let found = (((quotes &- ones) & ~quotes) | ((backslashes &- ones) & ~backslashes)) & highs
    return UInt64(littleEndian: found).trailingZeroBitCount >> 3
  }

  /// Whether there are at most 64 bytes, all of them ASCII.
  @inline(__always)
  var isShortASCII: Bool {
    guard count <= 64 else { return false }
    let raw = UnsafeRawPointer(base)
    var bits: UInt64 = 0
    var at = 0
    while at &+ 8 <= count {
      bits |= raw.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      at &+= 8
    }
    // The remaining bytes, with some of the earlier ones if there are any.
    if at < count {
      if count >= 8 {
        bits |= raw.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self)
      } else if count >= 4 {
        let first = raw.loadUnaligned(as: UInt32.self)
        bits |= UInt64(first | raw.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
      } else {
        bits |= UInt64(base[0] | base[count >> 1] | base[count &- 1])
      }
    }
    return bits & 0x8080_8080_8080_8080 == 0
  }

  package func contains(_ byte: UInt8) -> Bool { memchr(base, Int32(byte), count) != nil }

  /// Whether these bytes precede the other's: bytewise, and a prefix before the longer text.
  public func precedes(_ other: ByteSpan) -> Bool {
    let order = memcmp(base, other.base, min(count, other.count))
    return order == 0 ? count < other.count : order < 0
  }

  /// The bytes as text; invalid UTF-8 is replaced.
  public var text: String { String(decoding: buffer, as: UTF8.self) }

  /// The text for a message: in quotes, unless it is a JSON string. Long text is cut, with its length.
  package func quotedForMessage(limit: Int = 80) -> String {
    let quote = UInt8(ascii: "\"")
    let beginsWithQuote = count > 1 && base[0] == quote
    if count <= limit { return beginsWithQuote && base[count - 1] == quote ? text : "\"\(text)\"" }
    return (beginsWithQuote ? "" : "\"") + "\(prefix(atMost: limit).text)…\" (\(count) bytes)"
  }

  /// A JSON value for a message: a string, or another value with its type; cut, with its length, if long.
  package func valueForMessage(limit: Int = 80) -> String {
    let type: String
    switch base[0] {
    case UInt8(ascii: "\""): return quotedForMessage(limit: limit)
    case UInt8(ascii: "{"): type = "the object "
    case UInt8(ascii: "["): type = "the array "
    case UInt8(ascii: "-"), 0x30...0x39: type = "the number "
    default: type = ""
    }
    return type + (count <= limit ? text : "\(prefix(atMost: limit).text)… (\(count) bytes)")
  }

  /// The first bytes, up to the end of a character.
  func prefix(atMost limit: Int) -> ByteSpan {
    var end = min(limit, count)
    while end > 0, end < count, base[end] & 0xC0 == 0x80 { end -= 1 }
    return ByteSpan(base, end)
  }

  /// The offset of the first byte that is not UTF-8.
  var invalidUTF8Offset: Int {
    do {
      _ = try UTF8Span(validating: buffer.span)
      return count
    } catch {
      return error.byteOffsets.lowerBound
    }
  }
}

/// At most 255 owned bytes, of which up to 16 are stored inline and need no second memory access.
///
/// Read it in place, because a copy has another address: it is the *first* member of a value at a fixed
/// address, and is identified by that address.
struct ShortBytes {
  /// The bytes if they fit; otherwise the first word is the address of their block.
  private var storage: (UInt64, UInt64) = (0, 0)
  let count: UInt8

  private static let inlineCapacity = 16

  /// Stores a copy of the bytes, or the address of one.
  init(copying bytes: ByteSpan) {
    count = UInt8(bytes.count)
    if bytes.count <= ShortBytes.inlineCapacity {
      withUnsafeMutableBytes(of: &storage) { $0.copyMemory(from: bytes.rawBuffer) }
    } else {
      storage.0 = UInt64(UInt(bitPattern: bytes.copied()))
    }
  }

  /// The bytes of the value at an address; valid until the value is moved or released.
  @inline(__always)
  static func span(at address: UnsafeRawPointer) -> ByteSpan {
    let bytes = address.assumingMemoryBound(to: ShortBytes.self)
    let count = Int(bytes.pointee.count)
    if count <= inlineCapacity { return ByteSpan(address.assumingMemoryBound(to: UInt8.self), count) }
    return ByteSpan(UnsafePointer(bytes.pointee.block), count)
  }

  /// Frees the block, if there is one.
  func release() {
    if count > ShortBytes.inlineCapacity { free(block) }
  }

  private var block: UnsafeMutablePointer<UInt8> {
    guard let block = UnsafeMutablePointer<UInt8>(bitPattern: UInt(storage.0)) else {
      preconditionFailure("many bytes without a block")
    }
    return block
  }
}

/// An identifier as a key of a dictionary: bytes that the value owns, or that a record lends for a lookup.
package struct BytesKey: Hashable {
  package let bytes: ByteSpan

  package init(_ bytes: ByteSpan) { self.bytes = bytes }

  package static func == (one: BytesKey, other: BytesKey) -> Bool { one.bytes.hasSameBytes(as: other.bytes) }

  package func hash(into hasher: inout Hasher) { hasher.combine(bytes: bytes.rawBuffer) }
}

/// A copy of bytes at a fixed address.
package final class OwnedSpan {
  /// Valid as long as the object.
  package let span: ByteSpan
  private let block: UnsafeMutablePointer<UInt8>

  package init(_ bytes: ByteSpan) {
    block = bytes.copied()
    span = ByteSpan(UnsafePointer(block), bytes.count)
  }

  deinit { free(block) }
}

extension [UInt8] {
  /// A copy of the bytes, for another thread.
  func copy() -> [UInt8] {
    withUnsafeBufferPointer { bytes in
      [UInt8](unsafeUninitializedCapacity: bytes.count) { target, count in
        count = target.initialize(fromContentsOf: bytes)
      }
    }
  }
}
