import Glibc

/// Standard output, for what other programs read: written at once, a line in one call to the system.
public enum StandardOutput {
  /// Whether people read it: a terminal that understands escape sequences (not one whose `TERM` is `dumb`).
  public static var isTerminal: Bool {
    isatty(1) == 1 && getenv("TERM").map { String(cString: $0) != "dumb" } ?? false
  }

  /// The terminal's width in characters, 80 if it is unknown.
  public static var columns: Int { size.map { Int($0.ws_col) } ?? 80 }

  /// The terminal's height in lines, 24 if it is unknown.
  public static var rows: Int { size.map { Int($0.ws_row) } ?? 24 }

  private static var size: winsize? {
    var size = winsize()
    guard ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
    return size
  }

  /// Writes a line. What cannot be written is lost.
  ///
  /// - Parameter line: Without the line feed.
  public static func write(line: String) {
    write(line + "\n")
  }

  /// Writes text.
  ///
  /// - Returns: whether it was written; it is not when nobody reads any more.
  @discardableResult
  public static func write(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { write($0.span) }
  }

  /// Writes bytes as they are.
  ///
  /// - Returns: whether they were written.
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
