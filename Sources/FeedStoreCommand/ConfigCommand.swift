import Diagnostics
import FeedConfiguration
import FeedDaemon
import FeedTools
import HTTP
import Settings

/// `feedstore config`: prints the effective configuration and its sources, and checks it.
enum ConfigCommand: Subcommand {
  static let specification = CommandSpecification(
    "config",
    summary: "Shows the configuration in effect and where each value comes from, and checks it.",
    discussion: """
      Prints every key with its value, the unit of a number that has one, and its source: default, a line of the file, an \
      environment variable, or --set. Secrets are left out; a reference such as ${env:NAME} is shown in place of what it \
      stands for. Exits with 2 and the reason if 'feedstore run' would refuse the configuration.

      With --check, also asks the brokers about the topics, as 'feedstore topics' does, and exits with 1 if a daemon could \
      not work with them, if the brokers cannot be reached, or if an environment variable that begins with FEEDSTORE_ sets \
      nothing.
      """,
    options: [
      .flag("check", help: "Checks it against the cluster as well."),
      .flag("json", help: "Prints one object of JSON."),
    ] + configurationOptions
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let loaded = try sources(invocation).load()
    let configuration = loaded.configuration
    try configuration.checkSettings()
    var listing = ConfigurationListing(loaded)
    if invocation.flag("check") {
      var setup = TopicSetup(configuration, log: CommandLog.plain(configuration))
      setup.waits = true
      listing.topics = try await setup.run()
    }
    StandardOutput.write(invocation.flag("json") ? listing.json : listing.text)
    let http = configuration.http
    let leftOut = http.isEnabled ? try http.acceptedTokens().verifier?.leftOut : nil
    let notes =
      listing.notes + [leftOut.map { "http.jwt.keys: keys cannot be used: \($0)" }].compactMap(\.self)
    for note in notes { DiagnosticOutput.standardError.write(line: note) }
    return listing.isRight || !invocation.flag("check") ? .done : .failed
  }
}

/// `feedstore completions`: prints completion scripts for shells.
enum CompletionsCommand: Subcommand {
  static let specification = CommandSpecification(
    "completions",
    summary: "Prints a script with which a shell completes this command.",
    discussion: """
      For one session: source <(feedstore completions bash). For good, write it to where the shell looks: \
      ~/.local/share/bash-completion/completions/feedstore, a file _feedstore in a folder of zsh's fpath, or \
      ~/.config/fish/completions/feedstore.fish. The script asks this command what may follow the words typed after \
      feedstore: feedstore completions SHELL -- WORD...
      """,
    arguments: ArgumentSpecification(
      "SHELL",
      choices: Shell.allCases.map(\.rawValue),
      help: "bash, zsh or fish."
    )
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let name = invocation.arguments[0]
    guard let shell = Shell(rawValue: name) else {
      let allowed = Shell.allCases.map(\.rawValue).joined(separator: ", ")
      throw UsageError("there are no completions for '\(name)'; allowed: \(allowed)")
    }
    let words = Array(invocation.arguments.dropFirst())
    let specification = FeedStoreCommand.specification
    StandardOutput.write(
      words.isEmpty
        ? shell.script(for: specification.program) : shell.text(of: specification.suggestions(for: words))
    )
    return .done
  }
}
