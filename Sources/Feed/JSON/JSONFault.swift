/// Why a text is not JSON.
public struct JSONFault: Error, Sendable, Equatable {
  public enum Reason: Sendable, Equatable {
    case empty
    case invalidUTF8
    case invalidString
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

  /// What is wrong, in words.
  public var explanation: String {
    switch reason {
    case .empty: "the text is empty"
    case .invalidUTF8: "the text is not UTF-8"
    case .invalidString: "a string does not end or has a control character that is not escaped"
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
