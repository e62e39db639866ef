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
public struct CommandLineSpecification: Sendable, Equatable {
  /// The program's name, for help and errors.
  public let program: String
  /// The version, printed by `--version` after the name.
  public let version: String
  /// One sentence at the head of the help.
  public let summary: String
  public let commands: [CommandSpecification]

  public init(_ program: String, version: String, summary: String, commands: [CommandSpecification]) {
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
  public func parse(_ arguments: some Sequence<String>) throws(UsageError) -> CommandLineRequest {
    let arguments = Array(arguments)
    guard let first = arguments.first else {
      throw UsageError(.missingCommand, "no subcommand given; see '\(program) --help'")
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
      throw UsageError(.unknownOption, "unknown option \(name)\(hint ?? ""); see '\(program) --help'")
    }
    let known = commands.map { String($0.name.prefix { $0 != " " }) }
    let hint = NearestName.suggestion(for: name, among: known).map {
      "; did you mean '\($0)'?"
    }
    throw UsageError(
      .unknownCommand,
      "unknown subcommand '\(name)'\(hint ?? ""); see '\(program) --help'"
    )
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
      throw UsageError(.missingCommand, "'\(program) \(name)' needs a subcommand; \(allowed)")
    }
    let hint = NearestName.suggestion(for: second, among: known).map { "did you mean '\($0)'? " } ?? ""
    throw UsageError(.unknownCommand, "unknown subcommand '\(name) \(second)'; \(hint)\(allowed)")
  }
}
