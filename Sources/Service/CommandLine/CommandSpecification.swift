/// A subcommand: its name, its options and arguments, and its help.
public struct CommandSpecification: Sendable, Equatable {
  /// One word, or two for a command in a group: `rejects list`.
  public let name: String
  /// One sentence, shown in the list of subcommands and at the head of its own help.
  public let summary: String
  /// Further paragraphs of its own help; may be empty.
  public let discussion: String
  /// nil if the subcommand takes options only.
  public let arguments: ArgumentSpecification?
  public let options: [OptionSpecification]

  public init(
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
