extension CommandLineSpecification {
  /// The text of the program's own `--help`.
  public var help: String {
    var text = "usage: \(program) COMMAND [OPTION]...\n\n" + Self.wrapped(summary) + "\n"
    text += "commands:\n" + Self.columns(commands.map { ($0.name, $0.summary) }) + "\n"
    text += "options:\n"
    text += Self.columns([
      ("--help", "Shows this help; after a command, the help of that command."),
      ("--version", "Shows the version."),
    ])
    return text
  }

  /// The `--help` text for a group of commands with the same first word.
  func help(forGroup name: String, _ group: [CommandSpecification]) -> String {
    "usage: \(program) \(name) COMMAND [OPTION]...\n\ncommands:\n"
      + Self.columns(group.map { (String($0.name.dropFirst(name.count + 1)), $0.summary) })
      + "\noptions:\n"
      + Self.columns([("--help", "Shows this help; after a command, the help of that command.")])
  }

  /// The text of a subcommand's `--help`.
  public func help(for command: CommandSpecification) -> String {
    let usage =
      [program, command.name] + (command.arguments.map { [$0.usage] } ?? []) + command.options.map(\.usage)
    var text =
      Self.wrapped(usage, first: "usage: ", indentation: 7) + "\n" + Self.wrapped(command.summary) + "\n"
    for paragraph in command.discussion.split(separator: "\n") {
      text += Self.wrapped(String(paragraph)) + "\n"
    }
    if let arguments = command.arguments {
      text += "arguments:\n" + Self.columns([(arguments.usage, arguments.help)]) + "\n"
    }
    text += "options:\n"
    text += Self.columns(
      command.options.map { ($0.spelling + ($0.isRepeatable ? "..." : ""), $0.help) }
        + [("--help", "Shows this help.")]
    )
    return text
  }

  private static let width = 80

  /// Two columns: names and descriptions.
  private static func columns(_ rows: [(name: String, text: String)]) -> String {
    let indentation = (rows.map(\.name.count).max() ?? 0) + 4
    return rows.reduce(into: "") { text, row in
      let name = "  " + row.name
      let padding = String(repeating: " ", count: indentation - name.count)
      text += wrapped(
        row.text.split(separator: " ").map(String.init),
        first: name + padding,
        indentation: indentation
      )
    }
  }

  private static func wrapped(_ text: String) -> String {
    wrapped(text.split(separator: " ").map(String.init), first: "", indentation: 0)
  }

  /// Wraps words into lines of at most 80 characters, each ended by a line feed. Words are never broken.
  private static func wrapped(_ words: [String], first: String, indentation: Int) -> String {
    var text = ""
    var line = first
    var isEmpty = true
    for word in words {
      if !isEmpty, line.count + 1 + word.count > width {
        text += line + "\n"
        line = String(repeating: " ", count: indentation)
        isEmpty = true
      }
      line += (isEmpty ? "" : " ") + word
      isEmpty = false
    }
    return text + line + "\n"
  }
}
