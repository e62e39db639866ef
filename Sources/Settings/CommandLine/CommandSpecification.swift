/// A subcommand: its name, its options and arguments, and its help.
package struct CommandSpecification: Sendable, Equatable {
  /// One word, or two for a command in a group: `rejects list`.
  package let name: String
  /// One sentence, shown in the list of subcommands and at the head of its own help.
  package let summary: String
  /// Further paragraphs of its own help; may be empty.
  package let discussion: String
  /// nil if the subcommand takes options only.
  package let arguments: ArgumentSpecification?
  package let options: [OptionSpecification]

  package init(
    _ name: String,
    summary: String,
    discussion: String = "",
    arguments: ArgumentSpecification? = nil,
    options: [OptionSpecification] = []
  ) {
    self.name = name
    self.summary = summary
    self.discussion = discussion
    self.arguments = arguments
    self.options = options
  }

  func option(named name: String) -> OptionSpecification? {
    options.first { $0.name == name }
  }
}

/// The arguments of a subcommand that are not options, such as its input files.
package struct ArgumentSpecification: Sendable, Equatable {
  /// The name of one argument in the help, such as `FILE`.
  package let name: String
  package let minimum: Int
  /// The maximum number of arguments; nil for any number.
  package let maximum: Int?
  /// One sentence for the help.
  package let help: String
  /// The possible values, for shell completions; empty if they cannot be listed.
  package let choices: [String]

  package init(
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

/// An option of a subcommand: `--name`, with or without a value.
package struct OptionSpecification: Sendable, Equatable {
  /// The name without the two hyphens.
  package let name: String
  /// The name of the value in the help, such as `FILE`; nil for a flag.
  package let valueName: String?
  /// Whether the option may be repeated, and all its values count.
  package let isRepeatable: Bool
  /// One sentence for the help.
  package let help: String
  /// The possible values, or the beginnings of those of a repeatable option; empty if they cannot be listed.
  package var choices: [String] = []

  /// An option without a value. Repeating it has no effect.
  package static func flag(_ name: String, help: String) -> Self {
    Self(name: name, valueName: nil, isRepeatable: false, help: help)
  }

  /// An option with one value: `--name VALUE` or `--name=VALUE`. Repeating it is an error.
  package static func value(
    _ name: String,
    _ valueName: String,
    choices: [String] = [],
    help: String
  ) -> Self {
    Self(name: name, valueName: valueName, isRepeatable: false, help: help, choices: choices)
  }

  /// A repeatable option, whose values are collected in order.
  package static func repeated(
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
