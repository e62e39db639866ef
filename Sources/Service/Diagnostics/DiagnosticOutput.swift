import Glibc
import Synchronization

/// Standard error, shared by the log and the progress bar so that neither writes into the other's line.
///
/// The status line, if one is shown, is always the last: it is erased before a line is written and drawn again
/// after it.
public final class DiagnosticOutput: Sendable {
  /// Standard error of this process.
  public static let standardError = DiagnosticOutput(
    isTerminal: isatty(2) == 1 && getenv("TERM").map { String(cString: $0) != "dumb" } ?? false,
    write: { writeAll($0, to: 2) }
  )

  /// Whether a status line can be shown: a terminal that can erase a line (not one whose `TERM` is `dumb`).
  public let isTerminal: Bool
  private let status = Mutex("")
  private let write: @Sendable (String) -> Void

  /// An output of your own, such as a test's.
  ///
  /// - Parameter write: Takes text to append. It is called by one thread at a time.
  public init(isTerminal: Bool, write: @escaping @Sendable (String) -> Void) {
    self.isTerminal = isTerminal
    self.write = write
  }

  /// Writes a line, in one call to the system so that lines of several processes stay apart.
  ///
  /// - Parameter line: Without the line feed.
  public func write(line: String) {
    status.withLock { status in
      write(status.isEmpty ? line + "\n" : Self.erase + line + "\n" + status)
    }
  }

  /// Shows a status line in place of the one shown; an empty one erases it. Does nothing without a terminal.
  ///
  /// - Parameter text: One line, shorter than the terminal is wide.
  public func show(status text: String) {
    guard isTerminal else { return }
    status.withLock { status in
      guard text != status else { return }
      write(Self.erase + text)
      status = text
    }
  }

  /// The terminal's width in columns, 80 if it is unknown.
  public var columns: Int {
    var size = winsize()
    guard isTerminal, ioctl(2, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// To the beginning of the line, and erase to its end.
  private static let erase = "\r\u{1B}[K"

  /// What cannot be written is lost: there is nowhere left to say so.
  private static func writeAll(_ text: String, to descriptor: Int32) {
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)[...]
      while !rest.isEmpty {
        let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count >= 0 {
          rest = rest.dropFirst(count)
        } else if errno != EINTR {
          return
        }
      }
    }
  }
}
