import Glibc
import Synchronization

/// Standard output, for data: written at once, each line with a single system call.
///
/// A command need not look at every call: after its end, ``failure`` says whether all was written.
public enum StandardOutput {
  /// Whether it is a terminal.
  public static let isTerminal = isatty(1) == 1

  /// Whether it is a terminal that supports escape sequences, which move the cursor, for example.
  public static var hasEscapes: Bool { isTerminal && knowsEscapes(variable("TERM")) }

  /// Whether it is a terminal whose user wants colours: see https://no-color.org.
  public static var hasColours: Bool { hasEscapes && (variable("NO_COLOR") ?? "").isEmpty }

  /// Whether a terminal supports escape sequences.
  ///
  /// - Parameter name: its name, from the variable `TERM`.
  static func knowsEscapes(_ name: String?) -> Bool { name != nil && name != "dumb" }

  static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  /// The terminal's width in columns; 80 if it is unknown.
  public static var columns: Int { size.map { Int($0.ws_col) } ?? 80 }

  /// The terminal's height in lines; 24 if it is unknown.
  public static var rows: Int { size.map { Int($0.ws_row) } ?? 24 }

  private static var size: winsize? {
    var size = winsize()
    guard ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
    return size
  }

  /// The `errno` value of the first call that failed; 0 if none has.
  private static let failed = Atomic<Int32>(0)

  /// Why not everything was written; nil if it was, or if the reader closed the output, which is no failure.
  public static var failure: FileError? {
    let number = failed.load(ordering: .relaxed)
    return number == 0 || isClosed ? nil : FileError("write standard output", number)
  }

  /// Whether the reader closed the output: the other end of a pipe (`| head -1`), or a terminal.
  public static var isClosed: Bool {
    let number = failed.load(ordering: .relaxed)
    return number == EPIPE || number == EIO && isTerminal
  }

  /// Call it first. If a standard stream is closed, its descriptor is not used for a file or a connection, which would
  /// receive the output.
  public static func prepare() {
    // A terminal that is closed later is no terminal any more.
    _ = isTerminal
    while true {
      let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0, descriptor <= 2 else {
        close(descriptor)
        return
      }
    }
  }

  /// Writes a line.
  ///
  /// - Parameter line: the line without its line feed.
  /// - Returns: whether it was written.
  @discardableResult
  public static func write(line: String) -> Bool { write(line + "\n") }

  /// Writes text.
  ///
  /// - Returns: whether it was written.
  @discardableResult
  public static func write(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { write(bytes: UnsafeRawBufferPointer($0)) }
  }

  /// Writes bytes, unless an earlier call failed.
  ///
  /// - Returns: whether they were written.
  @discardableResult
  public static func write(bytes: UnsafeRawBufferPointer) -> Bool {
    guard failed.load(ordering: .relaxed) == 0 else { return false }
    let number = WholeFile.write(bytes, to: 1)
    guard number != 0 else { return true }
    _ = failed.compareExchange(expected: 0, desired: number, ordering: .relaxed)
    return false
  }
}
