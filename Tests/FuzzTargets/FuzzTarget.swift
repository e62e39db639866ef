/// Something that parses, and what must hold whatever it is given.
///
/// An input ends in one of three ways: every property holds, ``check`` throws a ``FuzzFailure``, or the process
/// crashes. The last two are bugs.
public struct FuzzTarget: Sendable {
  /// As on the command line; the folder of its seeds has this name, too.
  public let name: String
  /// Gives it one input.
  public let check: @Sendable ([UInt8]) throws(FuzzFailure) -> Void
  /// Words and characters that mean something to it.
  let tokens: [String]
  /// Makes an input from nothing; nil where changed seeds do.
  let generate: (@Sendable (inout FuzzRandom) -> [UInt8])?

  init(
    _ name: String,
    tokens: [String],
    generate: (@Sendable (inout FuzzRandom) -> [UInt8])? = nil,
    check: @escaping @Sendable ([UInt8]) throws(FuzzFailure) -> Void
  ) {
    self.name = name
    self.tokens = tokens
    self.generate = generate
    self.check = check
  }

  /// All there are.
  public static let all: [FuzzTarget] = [
    .inputRecord, .replayLine, .replica, .verifier, .savedState, .configuration, .httpHead, .percentEncoding,
    .mergePatch,
  ]

  /// No input is longer: what costs more time or memory than its length lets expect is found all the same.
  public static let maxInputBytes = 64 << 10
}

extension FuzzTarget: CustomStringConvertible {
  public var description: String { name }
}
