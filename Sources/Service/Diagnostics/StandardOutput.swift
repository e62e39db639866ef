import Glibc

/// Standard output, for what other programs read: written at once, a line in one call to the system.
public enum StandardOutput {
  /// Writes a line. What cannot be written is lost.
  ///
  /// - Parameter line: Without the line feed.
  public static func write(line: String) {
    write(line + "\n")
  }

  /// Writes text.
  public static func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)[...]
      while !rest.isEmpty {
        let count = Glibc.write(1, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count >= 0 {
          rest = rest.dropFirst(count)
        } else if errno != EINTR {
          return
        }
      }
    }
  }
}
