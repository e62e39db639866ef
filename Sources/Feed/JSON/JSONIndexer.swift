/// Finds the structure of JSON texts, and checks them.
public final class JSONIndexer {
  /// The latest text.
  package let text: JSONText
  /// The offsets of the text's tokens.
  @exclusivity(unchecked) private var offsets: UnsafeMutablePointer<UInt32>
  /// The closing bracket of each opening one.
  @exclusivity(unchecked) private var closings: UnsafeMutablePointer<UInt32>
  /// The capacity of both arrays.
  @exclusivity(unchecked) private var capacity: Int
  /// A copy of a text that is short, or does not end in a bracket.
  @exclusivity(unchecked) private var copy: [UInt8] = []

  private static let usualCapacity = 1024

  public init() {
    capacity = JSONIndexer.usualCapacity
    offsets = .allocate(capacity: capacity)
    closings = .allocate(capacity: capacity)
    text = JSONText(closings: closings)
  }

  deinit {
    offsets.deallocate()
    closings.deallocate()
  }

  /// Finds the structure of a text and checks all of it except surrogate escapes.
  ///
  /// The result is valid until the next call, and as long as the indexer.
  public func validated(_ bytes: ByteSpan) throws(JSONFault) -> JSONText {
    try index(bytes)
    return text
  }

  /// Validates a text, and rejects a surrogate escape without a partner: a string with one is not UTF-8.
  package func validatedWithPairedSurrogates(_ bytes: ByteSpan) throws(JSONFault) -> JSONText {
    try index(bytes)
    if let fault = text.unpairedSurrogate(from: 0, to: text.offsetCount) { throw fault }
    return text
  }

  /// Makes `text` describe these bytes, if they are JSON.
  @inline(__always)
  func index(_ bytes: ByteSpan) throws(JSONFault) {
    var count = bytes.count
    while count > 0, JSONText.isSpace(bytes[count - 1]) { count -= 1 }
    if count + JSONPass.leastLimit >= capacity { try reserve(count + JSONPass.leastLimit + 1) }
    guard count >= JSONPass.leastLimit,
      bytes[count - 1] == UInt8(ascii: "}") || bytes[count - 1] == UInt8(ascii: "]")
    else { return try indexCopy(of: bytes, count) }
    try index(bytes, as: bytes.base, limit: count, count)
  }

  /// Indexes a copy of the text with a bracket after it.
  @inline(never)
  private func indexCopy(of bytes: ByteSpan, _ count: Int) throws(JSONFault) {
    guard count > 0 else { throw JSONFault(.empty, at: 0) }
    copy.removeAll(keepingCapacity: true)
    copy += bytes.buffer[..<count]
    copy += repeatElement(UInt8(ascii: " "), count: max(1, JSONPass.leastLimit - count))
    copy.append(UInt8(ascii: "]"))
    try copy.withUnsafeBufferPointer { copy throws(JSONFault) in
      guard let base = copy.baseAddress else { return }
      try index(bytes, as: base, limit: copy.count, count)
    }
    if copy.count > 1 << 20 { copy = [] }
  }

  @inline(__always)
  private func index(
    _ bytes: ByteSpan,
    as base: UnsafePointer<UInt8>,
    limit: Int,
    _ count: Int
  ) throws(JSONFault) {
    let (pass, isComplete) = JSONPass.read(
      base,
      limit: limit,
      count: count,
      hasSpaces: count < bytes.count,
      offsets: offsets,
      closings: closings
    )
    guard isComplete, !pass.found.contains(.invalidEscapes),
      !pass.found.contains(.nonASCII) || JSONIndexer.isUTF8(bytes)
    else { throw fault(in: bytes, pass, isComplete) }
    offsets[pass.tokenCount] = UInt32(truncatingIfNeeded: bytes.count)
    text.describe(bytes, offsets: UnsafePointer(offsets), closings: closings, pass)
  }

  /// The fault of a text: the first of UTF-8, of strings, of the grammar, or of escapes, in this order.
  @inline(never)
  private func fault(in bytes: ByteSpan, _ pass: JSONPass, _ isComplete: Bool) -> JSONFault {
    guard JSONIndexer.isUTF8(bytes) else { return JSONFault(.invalidUTF8, at: 0) }
    if let fault = JSONFault(inStringsOf: bytes) { return fault }
    guard isComplete else { return pass.fault(in: bytes) }
    offsets[pass.tokenCount] = UInt32(truncatingIfNeeded: bytes.count)
    text.describe(bytes, offsets: UnsafePointer(offsets), closings: closings, pass)
    guard let fault = text.invalidEscape else { preconditionFailure("an escape is invalid, and none is") }
    return fault
  }

  // MARK: Memory

  @inline(never)
  private func reserve(_ count: Int) throws(JSONFault) {
    guard count <= UInt32.max else { throw JSONFault(.tooLarge, at: 0) }
    // Memory beyond the tokens is never touched.
    allocate(max(count, min(capacity * 2, 1 << 24)))
  }

  /// Releases memory after a text much larger than usual.
  public func trim() {
    if capacity > 1 << 20 { allocate(JSONIndexer.usualCapacity) }
  }

  private func allocate(_ capacity: Int) {
    offsets.deallocate()
    closings.deallocate()
    self.capacity = capacity
    offsets = .allocate(capacity: capacity)
    closings = .allocate(capacity: capacity)
  }

  /// Whether the bytes are well-formed UTF-8.
  public static func isUTF8(_ bytes: ByteSpan) -> Bool {
    bytes.isShortASCII || bytes.invalidUTF8Offset == bytes.count
  }
}

/// Why a text is not JSON.
public struct JSONFault: Error, Sendable, Equatable {
  public enum Reason: Sendable, Equatable {
    case empty
    case invalidUTF8
    case unterminatedString
    case controlCharacter
    case invalidEscape
    case unpairedSurrogate
    case invalidNumber
    case invalidLiteral
    case unexpectedCharacter
    case unexpectedEnd
    case tooLarge
  }

  public let reason: Reason
  /// The offset of the byte at which the fault was found.
  public let offset: Int

  init(_ reason: Reason, at offset: Int) {
    self.reason = reason
    self.offset = offset
  }

  /// The fault of a text with a string that does not end or has a control character; nil if it has none.
  init?(inStringsOf text: ByteSpan) {
    var (start, isEscaped): (Int?, Bool) = (nil, false)
    for (at, byte) in text.buffer.enumerated() {
      if byte == UInt8(ascii: "\""), !isEscaped {
        start = start == nil ? at : nil
      } else if byte < 0x20, start != nil {
        self.init(.controlCharacter, at: at)
        return
      }
      isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
    }
    guard let start else { return nil }
    self.init(.unterminatedString, at: start)
  }

  /// The fault, in words.
  public var explanation: String {
    switch reason {
    case .empty: "the text is empty"
    case .invalidUTF8: "the text is not UTF-8"
    case .unterminatedString: "a string that begins at byte \(offset) does not end"
    case .controlCharacter: "a control character at byte \(offset), in a string, is not escaped"
    case .invalidEscape: "an invalid escape in a string at byte \(offset)"
    case .unpairedSurrogate: "an unpaired surrogate escape in a string at byte \(offset)"
    case .invalidNumber: "an invalid number at byte \(offset)"
    case .invalidLiteral: "an invalid literal at byte \(offset)"
    case .unexpectedCharacter: "an unexpected character at byte \(offset)"
    case .unexpectedEnd: "the text ends too early"
    case .tooLarge: "the text is too large"
    }
  }
}
