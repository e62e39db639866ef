/// A parser, and the properties that must hold for any input.
///
/// For each input, all properties hold, or ``check`` throws a ``FuzzFailure``, or the process crashes. The last two are
/// bugs.
public struct FuzzTarget: Sendable {
  /// The name on the command line, and of the folder with its seeds.
  public let name: String
  /// Tries one input.
  public let check: @Sendable ([UInt8]) throws(FuzzFailure) -> Void
  /// Words and characters with a meaning for the parser.
  let tokens: [String]
  /// Generates an input; nil if only mutated seeds are used.
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

  /// All targets.
  public static let all: [FuzzTarget] = [
    .inputRecord, .replayLine, .replica, .verifier, .configuration, .httpHead, .percentEncoding,
    .mergePatch,
  ]

  /// The maximum input size. It suffices to find costs out of proportion to the length.
  public static let maxInputBytes = 64 << 10
}

extension FuzzTarget: CustomStringConvertible {
  public var description: String { name }
}
