import Glibc
import Synchronization

/// Standard error, shared by the log and the progress bar so that they do not mix their lines.
///
/// The status line is always the last: it is erased before a line is written, and redrawn after it.
public final class DiagnosticOutput: Sendable {
  /// Standard error of this process.
  public static let standardError = DiagnosticOutput(
    isTerminal: isatty(2) == 1 && StandardOutput.knowsEscapes(StandardOutput.variable("TERM")),
    write: { text in
      var text = text
      // Errors are ignored, because there is no other place to report them.
      _ = text.withUTF8 { WholeFile.write(UnsafeRawBufferPointer($0), to: 2) }
    }
  )

  /// Whether a status line can be shown: a terminal that supports erasing (not one whose `TERM` is `dumb`).
  public let isTerminal: Bool
  private let status = Mutex("")
  private let write: @Sendable (String) -> Void

  /// Another output, for example for tests.
  ///
  /// - Parameter write: appends text. It is called by one thread at a time.
  public init(isTerminal: Bool, write: @escaping @Sendable (String) -> Void) {
    self.isTerminal = isTerminal
    self.write = write
  }

  /// Writes a line with a single system call, so that the lines of several processes do not mix.
  ///
  /// - Parameter line: the line without its line feed.
  public func write(line: String) {
    status.withLock { status in
      write(status.isEmpty ? line + "\n" : Self.erase + line + "\n" + status)
    }
  }

  /// Replaces the status line; an empty text erases it. Without a terminal, does nothing.
  ///
  /// - Parameter text: one line, shorter than the terminal's width.
  public func show(status text: String) {
    guard isTerminal else { return }
    status.withLock { status in
      guard text != status else { return }
      write(Self.erase + text)
      status = text
    }
  }

  /// The terminal's width in columns; 80 if it is unknown.
  public var columns: Int {
    var size = winsize()
    guard isTerminal, ioctl(2, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// Moves to the beginning of the line, and erases to its end.
  private static let erase = "\r\u{1B}[K"
}
