import Settings
import Testing

@Suite struct CommandLineTests {
  private let specification = CommandLineSpecification(
    "tool",
    version: "1.2.3",
    summary: "Does things.",
    commands: [
      CommandSpecification(
        "replay",
        summary: "Replays files.",
        discussion:
          "It reads them in the order given, as one input, and writes what a daemon would have written.",
        arguments: ArgumentSpecification("FILE", help: "Input; - is standard input."),
        options: [
          .value("config", "FILE", help: "Configuration."),
          .repeated(
            "set",
            "KEY=VALUE",
            help: "Sets one key; may be given more than once, and wins over the file."
          ),
          .flag("strict", help: "Fails if anything was rejected."),
          .value("limit", "N", help: "How many."),
        ]
      ),
      CommandSpecification("run", summary: "Runs."),
    ]
  )

  /// A tool with two-word commands.
  private let grouped = CommandLineSpecification(
    "tool",
    version: "1",
    summary: "Does things.",
    commands: [
      CommandSpecification("run", summary: "Runs."),
      CommandSpecification("letters list", summary: "Lists them.", options: [.flag("all", help: "All.")]),
      CommandSpecification(
        "letters send",
        summary: "Sends them.",
        arguments: ArgumentSpecification("N", help: "Which.")
      ),
    ]
  )

  private func invocation(_ line: String) throws -> CommandInvocation {
    let arguments = line.split(separator: " ").map(String.init)
    guard case .run(let invocation) = try specification.parse(arguments) else {
      throw UsageError("printed")
    }
    return invocation
  }

  private func printed(_ arguments: String...) throws -> String? {
    guard case .print(let text) = try specification.parse(arguments) else { return nil }
    return text
  }

  private func usageError(_ arguments: [String]) throws -> UsageError {
    try #require(throws: UsageError.self) { try specification.parse(arguments) }
  }

  @Test func `options and files may be mixed`() throws {
    let invocation = try invocation("replay a --config c --set=x=1 - --strict --set y=2 b")
    #expect(invocation.command.name == "replay")
    #expect(invocation.arguments == ["a", "-", "b"])
    #expect(invocation.value("config") == "c")
    #expect(invocation.values("set") == ["x=1", "y=2"])
    #expect(invocation.flag("strict"))
  }

  @Test func `options that are not given are absent`() throws {
    let invocation = try invocation("replay a")
    #expect(invocation.value("config") == nil)
    #expect(invocation.values("set").isEmpty)
    #expect(!invocation.flag("strict"))
  }

  @Test func `after two hyphens everything is an argument`() throws {
    let invocation = try invocation("replay -- --strict -- --help")
    #expect(invocation.arguments == ["--strict", "--", "--help"])
    #expect(!invocation.flag("strict"))
  }

  @Test func `a value may be empty or begin with one hyphen`() throws {
    #expect(try invocation("replay a --config -").value("config") == "-")
    #expect(try invocation("replay a --config=").value("config") == "")
    #expect(try invocation("replay a --config=--x").value("config") == "--x")
    #expect(try invocation("replay a --limit -5").integer("limit", in: -9...9) == -5)
  }

  @Test(arguments: [
    ([], "no subcommand given; see 'tool --help'"),
    (["replya", "x"], "unknown subcommand 'replya'; did you mean 'replay'?; see 'tool --help'"),
    (["zzzzzz"], "unknown subcommand 'zzzzzz'; see 'tool --help'"),
    (["--versoin"], "unknown option --versoin; did you mean --version?; see 'tool --help'"),
    (
      ["replay", "a", "--strct"],
      "unknown option --strct of 'tool replay'; did you mean --strict?; see 'tool replay --help'"
    ),
    (["replay", "a", "-q"], "unknown option -q of 'tool replay'; see 'tool replay --help'"),
    (["replay", "a", "--config"], "--config needs a value: --config FILE; see 'tool replay --help'"),
    (
      ["replay", "a", "--config", "--strict"],
      "--config needs a value: --config FILE; see 'tool replay --help'"
    ),
    (["replay", "a", "--strict=yes"], "--strict takes no value, but was given 'yes'"),
    (["replay", "a", "--config=x", "--config=y"], "--config is given more than once; give it once"),
    (["replay"], "'tool replay' needs FILE..., but 0 given; see 'tool replay --help'"),
    (["run", "x"], "unexpected argument 'x'; see 'tool run --help'"),
  ])
  func `a mistake is named`(_ arguments: [String], message: String) throws {
    let error = try usageError(arguments)
    #expect(error.description == message)
  }

  @Test func `a number is checked against its range`() throws {
    let invocation = try invocation("replay a --limit 12")
    #expect(try invocation.integer("limit", in: 0...20) == 12)
    #expect(try invocation.number("limit", in: 0...20) == 12)
    let error = try #require(throws: UsageError.self) {
      try invocation.integer("limit", in: 0...9)
    }
    #expect(error.description == "--limit is '12'; allowed: a whole number from 0 to 9")
    let other = try #require(throws: UsageError.self) {
      try invocation.number("limit", in: 0...9)
    }
    #expect(other.description == "--limit is '12'; allowed: a number from 0 to 9")
    #expect(try self.invocation("replay a").integer("limit", in: 0...9) == nil)
  }

  @Test func `a command may have two words`() throws {
    guard case .run(let list) = try grouped.parse(["letters", "list", "--all"]),
      case .run(let send) = try grouped.parse(["letters", "send", "1", "2"])
    else { throw UsageError("printed") }
    #expect(list.command.name == "letters list" && list.flag("all") && list.arguments.isEmpty)
    #expect(send.command.name == "letters send" && send.arguments == ["1", "2"])
  }

  @Test func `the first of two words has its own help`() throws {
    let help = """
      usage: tool letters COMMAND [OPTION]...

      commands:
        list  Lists them.
        send  Sends them.

      options:
        --help  Shows this help; after a command, the help of that command.

      """
    for words in [["letters", "--help"], ["letters", "-h"], ["help", "letters"]] {
      #expect(try grouped.parse(words) == .print(help))
    }
    let own = CommandLineRequest.print(grouped.help(for: grouped.commands[1]))
    #expect(try grouped.parse(["letters", "list", "--help"]) == own)
    #expect(try grouped.parse(["help", "letters", "list"]) == own)
  }

  @Test(arguments: [
    (
      ["letters"],
      "'tool letters' needs a subcommand; allowed: list, send; see 'tool letters --help'"
    ),
    (
      ["letters", "--all"],
      "'tool letters' needs a subcommand; allowed: list, send; see 'tool letters --help'"
    ),
    (
      ["letters", "lst"],
      "unknown subcommand 'letters lst'; did you mean 'list'? allowed: list, send; see 'tool letters --help'"
    ),
    (["leters", "list"], "unknown subcommand 'leters'; did you mean 'letters'?; see 'tool --help'"),
    (["letters", "send"], "'tool letters send' needs N..., but 0 given; see 'tool letters send --help'"),
  ])
  func `a mistake in a two-word command is named`(
    _ arguments: [String],
    message: String
  ) throws {
    let error = try #require(throws: UsageError.self) { try grouped.parse(arguments) }
    #expect(error.description == message)
  }

  @Test func `the version is printed`() throws {
    #expect(try printed("--version") == "tool 1.2.3\n")
  }

  @Test func `the help lists the commands`() throws {
    let help = """
      usage: tool COMMAND [OPTION]...

      Does things.

      commands:
        replay  Replays files.
        run     Runs.

      options:
        --help     Shows this help; after a command, the help of that command.
        --version  Shows the version.

      """
    #expect(try printed("--help") == help)
    #expect(try printed("-h") == help)
    #expect(try printed("help") == help)
  }

  @Test func `a command's help is aligned and wrapped`() throws {
    let help = """
      usage: tool replay FILE... [--config FILE] [--set KEY=VALUE]... [--strict]
             [--limit N]

      Replays files.

      It reads them in the order given, as one input, and writes what a daemon would
      have written.

      arguments:
        FILE...  Input; - is standard input.

      options:
        --config FILE       Configuration.
        --set KEY=VALUE...  Sets one key; may be given more than once, and wins over
                            the file.
        --strict            Fails if anything was rejected.
        --limit N           How many.
        --help              Shows this help.

      """
    #expect(try printed("replay", "--help") == help)
    #expect(try printed("replay", "--nonsense", "-h") == help)
    #expect(try printed("help", "replay") == help)
  }

  @Test func `the exit codes are the documented ones`() {
    #expect(ExitCode.done.rawValue == 0)
    #expect(ExitCode.failed.rawValue == 1)
    #expect(ExitCode.usage.rawValue == 2)
  }

  @Test func `exiting ends the process with the code`() async {
    await #expect(processExitsWith: .exitCode(2)) { ExitCode.usage.exit() }
  }
}
