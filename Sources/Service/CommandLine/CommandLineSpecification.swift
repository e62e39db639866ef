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
  /// The program's name in help and errors.
  public let program: String
  /// What `--version` prints after the name.
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

  /// Reads a command line.
  ///
  /// `--help` and `-h` win over everything that follows the subcommand, mistakes included, up to `--`. Every
  /// argument after `--` is taken as it is. An option's value is what follows `=`, or the next argument unless
  /// that begins with `--`.
  ///
  /// - Parameter arguments: Without the program's name.
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
      return .print(arguments.count == 1 ? help : help(for: try command(named: arguments[1])))
    default: break
    }
    let command = try command(named: first)
    let rest = arguments.dropFirst()
    let options = rest.prefix { $0 != "--" }
    if options.contains("--help") || options.contains("-h") { return .print(help(for: command)) }
    var parser = CommandLineParser(program: program, command: command, arguments: rest)
    return .run(try parser.parse())
  }

  private func command(named name: String) throws(UsageError) -> CommandSpecification {
    if let command = commands.first(where: { $0.name == name }) { return command }
    if name.hasPrefix("-"), name != "-" {
      let hint = NearestName.suggestion(for: name, among: ["--help", "--version"]).map {
        "; did you mean \($0)?"
      }
      throw UsageError(.unknownOption, "unknown option \(name)\(hint ?? ""); see '\(program) --help'")
    }
    let hint = NearestName.suggestion(for: name, among: commands.map(\.name)).map {
      "; did you mean '\($0)'?"
    }
    throw UsageError(
      .unknownCommand,
      "unknown subcommand '\(name)'\(hint ?? ""); see '\(program) --help'"
    )
  }
}
