import Glibc

/// Standard output, for data: written at once, each line with a single system call.
public enum StandardOutput {
  /// Whether it is a terminal that supports escape sequences (not one whose `TERM` is `dumb`).
  public static var isTerminal: Bool {
    isatty(1) == 1 && getenv("TERM").map { String(cString: $0) != "dumb" } ?? false
  }

  /// The terminal's width in columns; 80 if it is unknown.
  public static var columns: Int { size.map { Int($0.ws_col) } ?? 80 }

  /// The terminal's height in lines; 24 if it is unknown.
  public static var rows: Int { size.map { Int($0.ws_row) } ?? 24 }

  private static var size: winsize? {
    var size = winsize()
    guard ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
    return size
  }

  /// Writes a line. Errors are ignored.
  ///
  /// - Parameter line: the line without its line feed.
  public static func write(line: String) {
    write(line + "\n")
  }

  /// Writes text.
  ///
  /// - Returns: false if the reader has closed the output.
  @discardableResult
  public static func write(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { write($0.span) }
  }

  /// Writes bytes.
  ///
  /// - Returns: false if the reader has closed the output.
  @discardableResult
  public static func write(bytes: [UInt8]) -> Bool { write(bytes.span) }

  private static func write(_ bytes: Span<UInt8>) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Glibc.write(1, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count >= 0 {
          rest = rest.dropFirst(count)
        } else if errno != EINTR {
          return false
        }
      }
      return true
    }
  }
}
