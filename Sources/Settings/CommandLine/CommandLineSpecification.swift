import Spelling

/// A program's command line: its subcommands, and the text of its help.
///
/// ```swift
/// let specification = CommandLineSpecification(
///   "feedstore", version: "1.0.0", summary: "…",
///   commands: [CommandSpecification("run", summary: "…", options: [.value("config", "FILE", help: "…")])])
/// switch try specification.parse(CommandLine.arguments.dropFirst()) {
/// case .print(let text): print(text, terminator: "")
/// case .run(let invocation): …
/// }
/// ```
package struct CommandLineSpecification: Sendable, Equatable {
  /// The program's name, for help and errors.
  package let program: String
  /// The version, printed by `--version` after the name.
  package let version: String
  /// One sentence at the head of the help.
  package let summary: String
  package let commands: [CommandSpecification]

  package init(_ program: String, version: String, summary: String, commands: [CommandSpecification]) {
    self.program = program
    self.version = version
    self.summary = summary
    self.commands = commands
  }

  /// Parses a command line.
  ///
  /// `--help` and `-h` take precedence over everything after the subcommand, including mistakes, up to `--`. Arguments
  /// after `--` are taken literally. An option's value follows `=`, or is the next argument unless that begins with
  /// `--`.
  ///
  /// - Parameter arguments: the arguments without the program's name.
  /// - Throws: ``UsageError``; the process should exit with ``ExitCode/usage``.
  package func parse(_ arguments: some Sequence<String>) throws(UsageError) -> CommandLineRequest {
    let arguments = Array(arguments)
    guard let first = arguments.first else {
      throw UsageError("no subcommand given; see '\(program) --help'")
    }
    switch first {
    case "--help", "-h": return .print(help)
    case "--version": return .print("\(program) \(version)\n")
    case "help":
      return .print(try help(of: Array(arguments.dropFirst())))
    default: break
    }
    let group = group(named: first)
    if !group.isEmpty, arguments.count > 1, ["--help", "-h"].contains(arguments[1]) {
      return .print(help(forGroup: first, group))
    }
    let command = try command(named: arguments)
    let rest = arguments.dropFirst(group.isEmpty ? 1 : 2)
    let options = rest.prefix { $0 != "--" }
    if options.contains("--help") || options.contains("-h") { return .print(help(for: command)) }
    var parser = CommandLineParser(program: program, command: command, arguments: rest)
    return .run(try parser.parse())
  }

  /// The two-word commands with this first word.
  private func group(named name: String) -> [CommandSpecification] {
    commands.filter { $0.name.hasPrefix(name + " ") }
  }

  private func help(of words: [String]) throws(UsageError) -> String {
    guard let first = words.first else { return help }
    let group = group(named: first)
    return words.count == 1 && !group.isEmpty
      ? help(forGroup: first, group) : help(for: try command(named: words))
  }

  /// - Parameter words: the beginning of a command line; not empty.
  private func command(named words: [String]) throws(UsageError) -> CommandSpecification {
    let name = words[0]
    if let command = commands.first(where: { $0.name == name }) { return command }
    let group = group(named: name)
    if !group.isEmpty { return try command(of: group, named: name, words.dropFirst().first) }
    if name.hasPrefix("-"), name != "-" {
      let hint = NearestName.suggestion(for: name, among: ["--help", "--version"]).map {
        "; did you mean \($0)?"
      }
      throw UsageError("unknown option \(name)\(hint ?? ""); see '\(program) --help'")
    }
    let known = commands.map { String($0.name.prefix { $0 != " " }) }
    let hint = NearestName.suggestion(for: name, among: known).map {
      "; did you mean '\($0)'?"
    }
    throw UsageError("unknown subcommand '\(name)'\(hint ?? ""); see '\(program) --help'")
  }

  private func command(
    of group: [CommandSpecification],
    named name: String,
    _ second: String?
  ) throws(UsageError) -> CommandSpecification {
    if let second, let command = group.first(where: { $0.name == "\(name) \(second)" }) { return command }
    let known = group.map { String($0.name.dropFirst(name.count + 1)) }
    let allowed = "allowed: \(known.joined(separator: ", ")); see '\(program) \(name) --help'"
    guard let second, !second.hasPrefix("-") else {
      throw UsageError("'\(program) \(name)' needs a subcommand; \(allowed)")
    }
    let hint = NearestName.suggestion(for: second, among: known).map { "did you mean '\($0)'? " } ?? ""
    throw UsageError("unknown subcommand '\(name) \(second)'; \(hint)\(allowed)")
  }
}

/// The result of parsing a valid command line.
package enum CommandLineRequest: Sendable, Equatable {
  /// Print this text to standard output and exit with ``ExitCode/done``: the help or the version.
  case print(String)
  /// Run a subcommand.
  case run(CommandInvocation)
}

extension CommandLineSpecification {
  /// The text of the program's own `--help`.
  package var help: String {
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
  package func help(for command: CommandSpecification) -> String {
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
