/// The result of parsing a valid command line.
public enum CommandLineRequest: Sendable, Equatable {
  /// Print this text to standard output and exit with ``ExitCode/done``: the help or the version.
  case print(String)
  /// Run a subcommand.
  case run(CommandInvocation)
}
