import Glibc

/// How the process ended, as the shell sees it.
public enum ExitCode: Int32, Sendable {
  /// Everything asked for was done.
  case done = 0
  /// The work failed: the input, the network, the disk.
  case failed = 1
  /// The command line or the configuration is wrong; nothing was begun.
  case usage = 2

  /// Ends the process with this code, after flushing the C library's buffers.
  public func exit() -> Never {
    Glibc.exit(rawValue)
  }
}
