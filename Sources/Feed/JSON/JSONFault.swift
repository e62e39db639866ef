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

  /// What is wrong, in words.
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
