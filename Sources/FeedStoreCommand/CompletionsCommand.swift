import Service

/// `feedstore completions`: prints completion scripts for shells.
enum CompletionsCommand: Subcommand {
  static let specification = CommandSpecification(
    "completions",
    summary: "Prints a script with which a shell completes this command.",
    discussion: """
      For one session: source <(feedstore completions bash). For good, write it to where the shell looks: \
      ~/.local/share/bash-completion/completions/feedstore, a file _feedstore in a folder of zsh's fpath, or \
      ~/.config/fish/completions/feedstore.fish.
      """,
    arguments: ArgumentSpecification(
      "SHELL",
      maximum: 1,
      choices: Shell.allCases.map(\.rawValue),
      help: "bash, zsh or fish."
    )
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let name = invocation.arguments[0]
    guard let shell = Shell(rawValue: name) else {
      let allowed = Shell.allCases.map(\.rawValue).joined(separator: ", ")
      throw UsageError(.invalidValue, "there are no completions for '\(name)'; allowed: \(allowed)")
    }
    StandardOutput.write(FeedStoreCommand.specification.completions(for: shell))
    return .done
  }
}
