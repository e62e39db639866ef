import Glibc

/// The exit code of the process.
public enum ExitCode: Int32, Sendable {
  /// The command succeeded.
  case done = 0
  /// The command failed: the input, the network, the disk.
  case failed = 1
  /// The command line or the configuration is invalid; nothing was started.
  case usage = 2

  /// Ends the process with this code, after flushing the C library's buffers.
  public func exit() -> Never {
    Glibc.exit(rawValue)
  }
}
