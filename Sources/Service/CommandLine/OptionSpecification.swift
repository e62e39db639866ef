/// An option of a subcommand: `--name`, with or without a value.
public struct OptionSpecification: Sendable, Equatable {
  /// Without the two hyphens.
  public let name: String
  /// What the help calls the value, such as `FILE`; nil for a flag, which takes none.
  public let valueName: String?
  /// Whether the option may be given more than once and all its values count.
  public let isRepeatable: Bool
  /// One sentence for the help.
  public let help: String
  /// The values that there are, for shell completions; empty if there are too many to name.
  public var choices: [String] = []

  /// An option that is there or not. Giving it twice is the same as once.
  public static func flag(_ name: String, help: String) -> Self {
    Self(name: name, valueName: nil, isRepeatable: false, help: help)
  }

  /// An option with one value: `--name VALUE` or `--name=VALUE`. Giving it twice is an error.
  public static func value(
    _ name: String,
    _ valueName: String,
    choices: [String] = [],
    help: String
  ) -> Self {
    Self(name: name, valueName: valueName, isRepeatable: false, help: help, choices: choices)
  }

  /// An option whose values are collected in the order given.
  public static func repeated(
    _ name: String,
    _ valueName: String,
    choices: [String] = [],
    help: String
  ) -> Self {
    Self(name: name, valueName: valueName, isRepeatable: true, help: help, choices: choices)
  }

  /// As in `--config FILE`.
  var spelling: String {
    valueName.map { "--\(name) \($0)" } ?? "--\(name)"
  }

  /// As in `[--set KEY=VALUE]...`.
  var usage: String {
    "[\(spelling)]" + (isRepeatable ? "..." : "")
  }
}
