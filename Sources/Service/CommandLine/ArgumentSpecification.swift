/// The arguments of a subcommand that are not options, such as its input files.
public struct ArgumentSpecification: Sendable, Equatable {
  /// The name of one argument in the help, such as `FILE`.
  public let name: String
  /// The minimum number of arguments.
  public let minimum: Int
  /// The maximum number of arguments; nil for any number.
  public let maximum: Int?
  /// One sentence for the help.
  public let help: String
  /// The possible values, for shell completions; empty if they cannot be listed.
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

  /// The usage text, such as `FILE...`.
  var usage: String {
    let repeated = maximum == 1 ? name : name + "..."
    return minimum == 0 ? "[\(repeated)]" : repeated
  }
}
