/// An option of a subcommand: `--name`, with or without a value.
public struct OptionSpecification: Sendable, Equatable {
  /// The name without the two hyphens.
  public let name: String
  /// The name of the value in the help, such as `FILE`; nil for a flag.
  public let valueName: String?
  /// Whether the option may be repeated, and all its values count.
  public let isRepeatable: Bool
  /// One sentence for the help.
  public let help: String
  /// The possible values, for shell completions; empty if they cannot be listed.
  public var choices: [String] = []

  /// An option without a value. Repeating it has no effect.
  public static func flag(_ name: String, help: String) -> Self {
    Self(name: name, valueName: nil, isRepeatable: false, help: help)
  }

  /// An option with one value: `--name VALUE` or `--name=VALUE`. Repeating it is an error.
  public static func value(
    _ name: String,
    _ valueName: String,
    choices: [String] = [],
    help: String
  ) -> Self {
    Self(name: name, valueName: valueName, isRepeatable: false, help: help, choices: choices)
  }

  /// A repeatable option, whose values are collected in order.
  public static func repeated(
    _ name: String,
    _ valueName: String,
    choices: [String] = [],
    help: String
  ) -> Self {
    Self(name: name, valueName: valueName, isRepeatable: true, help: help, choices: choices)
  }

  /// The option with its value, such as `--config FILE`.
  var spelling: String {
    valueName.map { "--\(name) \($0)" } ?? "--\(name)"
  }

  /// The usage text, such as `[--set KEY=VALUE]...`.
  var usage: String {
    "[\(spelling)]" + (isRepeatable ? "..." : "")
  }
}
