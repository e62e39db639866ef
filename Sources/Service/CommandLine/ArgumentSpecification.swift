/// The arguments of a subcommand that are not options, such as its input files.
public struct ArgumentSpecification: Sendable, Equatable {
  /// What the help calls one of them, such as `FILE`.
  public let name: String
  /// Fewest that must be given.
  public let minimum: Int
  /// Most that may be given; nil for any number.
  public let maximum: Int?
  /// One sentence for the help.
  public let help: String
  /// What may be given, for shell completions; empty if there is too much to name.
  public let choices: [String]

  public init(
    _ name: String,
    minimum: Int = 1,
    maximum: Int? = nil,
    choices: [String] = [],
    help: String
  ) {
    self.name = name
    self.choices = choices
    self.minimum = minimum
    self.maximum = maximum
    self.help = help
  }

  /// As in `FILE...`.
  var usage: String {
    let repeated = maximum == 1 ? name : name + "..."
    return minimum == 0 ? "[\(repeated)]" : repeated
  }
}
