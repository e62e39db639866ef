/// What a correct command line asks for.
public enum CommandLineRequest: Sendable, Equatable {
  /// Print this text to standard output and exit with ``ExitCode/done``: the help or the version.
  case print(String)
  /// Do the work of a subcommand.
  case run(CommandInvocation)
}
