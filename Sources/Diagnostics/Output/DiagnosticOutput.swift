import Glibc
package import OperatingSystem
package import Synchronization

/// Standard error, shared by the log and the progress bar so that they do not mix their lines.
///
/// The status line is always the last: it is erased before a line is written, and redrawn after it.
package final class DiagnosticOutput: Sendable {
  package static let standardError = DiagnosticOutput(
    isTerminal: isatty(2) == 1 && StandardOutput.knowsEscapes(StandardOutput.variable("TERM")),
    write: { text in
      var text = text
      // Errors are ignored, because there is no other place to report them.
      _ = text.withUTF8 { WholeFile.write(UnsafeRawBufferPointer($0), to: 2) }
    }
  )

  /// Whether a status line can be shown: a terminal that supports erasing (not one whose `TERM` is `dumb`).
  package let isTerminal: Bool
  private let status = Mutex("")
  private let write: @Sendable (String) -> Void

  /// Another output, for example for tests.
  ///
  /// - Parameter write: appends text. It is called by one thread at a time.
  package init(isTerminal: Bool, write: @escaping @Sendable (String) -> Void) {
    self.isTerminal = isTerminal
    self.write = write
  }

  /// Writes a line, given without its line feed, with a single system call, so that the lines of several processes do
  /// not mix.
  package func write(line: String) {
    status.withLock { status in
      write(status.isEmpty ? line + "\n" : Self.erase + line + "\n" + status)
    }
  }

  /// Replaces the status line; an empty text erases it. Without a terminal, does nothing.
  ///
  /// - Parameter text: one line, shorter than the terminal's width.
  package func show(status text: String) {
    guard isTerminal else { return }
    status.withLock { status in
      guard text != status else { return }
      write(Self.erase + text)
      status = text
    }
  }

  /// The terminal's width in columns; 80 if unknown.
  package var columns: Int {
    guard isTerminal, let size = StandardOutput.size(of: 2) else { return 80 }
    return Int(size.ws_col)
  }

  /// Moves to the beginning of the line, and erases to its end.
  private static let erase = "\r\u{1B}[K"
}

/// Standard output, for data: written at once, each line with a single system call.
///
/// A command need not check every call: after its end, ``failure`` has the error, if any.
package enum StandardOutput {
  package static let isTerminal = isatty(1) == 1

  /// Whether it is a terminal that supports escape sequences, which move the cursor, for example.
  package static var hasEscapes: Bool { isTerminal && knowsEscapes(variable("TERM")) }

  /// Whether it is a terminal whose user wants colours: see https://no-color.org.
  package static var hasColours: Bool { hasEscapes && (variable("NO_COLOR") ?? "").isEmpty }

  /// Whether a terminal supports escape sequences.
  ///
  /// - Parameter name: its name, from the variable `TERM`.
  static func knowsEscapes(_ name: String?) -> Bool { name != nil && name != "dumb" }

  static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  /// The terminal's width in columns; 80 if unknown.
  package static var columns: Int { size(of: 1).map { Int($0.ws_col) } ?? 80 }

  /// The terminal's height in lines; 24 if unknown.
  package static var rows: Int { size(of: 1).map { Int($0.ws_row) } ?? 24 }

  /// The size of a descriptor's terminal; nil if unknown.
  fileprivate static func size(of descriptor: Int32) -> winsize? {
    var size = winsize()
    let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 && size.ws_row > 0
    return isKnown ? size : nil
  }

  /// The `errno` value of the first failed call; 0 if none has failed.
  private static let failed = Atomic<Int32>(0)

  /// Counts the starts and ends of writes: while the reader blocks a write, it is odd and constant.
  package static let step = Atomic<Int>(0)

  /// Why not everything was written, if so; nil if the reader closed the output, which is not a failure.
  package static var failure: FileError? {
    let number = failed.load(ordering: .relaxed)
    return number == 0 || isClosed ? nil : FileError("write standard output", number)
  }

  /// Whether the reader closed the output: the other end of a pipe (`| head -1`), or a terminal.
  package static var isClosed: Bool {
    let number = failed.load(ordering: .relaxed)
    return number == EPIPE || number == EIO && isTerminal
  }

  /// Call it first. If a standard stream is closed, its descriptor is not used for a file or a connection, which would
  /// receive the output.
  package static func prepare() {
    // A terminal that is closed later no longer counts as a terminal.
    _ = isTerminal
    while true {
      let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0, descriptor <= 2 else {
        close(descriptor)
        return
      }
    }
  }

  /// Writes a line, given without its line feed.
  ///
  /// - Returns: whether it was written.
  @discardableResult
  package static func write(line: String) -> Bool { write(line + "\n") }

  @discardableResult
  package static func write(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { write(bytes: UnsafeRawBufferPointer($0)) }
  }

  /// Writes bytes, unless an earlier call failed.
  ///
  /// - Returns: whether they were written.
  @discardableResult
  package static func write(bytes: UnsafeRawBufferPointer) -> Bool {
    guard failed.load(ordering: .relaxed) == 0 else { return false }
    step.add(1, ordering: .relaxed)
    let number = WholeFile.write(bytes, to: 1)
    step.add(1, ordering: .relaxed)
    guard number != 0 else { return true }
    _ = failed.compareExchange(expected: 0, desired: number, ordering: .relaxed)
    return false
  }
}

/// Shows the progress of a long operation on a terminal.
///
/// ```
/// reading [========>           ]  43%  12.3 MB of 28.6 MB  4.5 MB/s  0:04 left
/// ```
///
/// It shows nothing without a terminal, or on one without line erasure (`TERM=dumb`). It uses no colour, so
/// `NO_COLOR` has no effect. Log lines appear above it.
package struct ProgressBar: Sendable {
  private let label: String
  private let total: Int64?
  private let startedAt: Int64
  private let output: DiagnosticOutput
  private var drawnAt: Int64?

  /// The minimum interval between redraws: ten per second.
  private static let interval: Int64 = 100_000_000

  /// - Parameters:
  ///   - label: the operation, in one word.
  ///   - total: the total number of bytes; nil if unknown, which omits the bar and the remaining time.
  ///   - now: the time in nanoseconds, from ``MonotonicClock/nanoseconds()``.
  package init(_ label: String, total: Int64?, now: Int64, output: DiagnosticOutput = .standardError) {
    self.label = label
    self.total = total.map { max(0, $0) }
    self.startedAt = now
    self.output = output
  }

  /// Updates the progress. It may be called for each batch, because most calls only compare two numbers.
  ///
  /// - Parameters:
  ///   - done: the bytes processed so far.
  ///   - now: the time in nanoseconds.
  package mutating func update(_ done: Int64, now: Int64) {
    guard output.isTerminal, now - (drawnAt ?? startedAt) >= Self.interval else { return }
    drawnAt = now
    output.show(status: String(text(done: done, now: now).prefix(max(0, output.columns - 1))))
  }

  /// Erases the bar. A later update would redraw it.
  package mutating func finish() {
    drawnAt = nil
    output.show(status: "")
  }

  /// The line at a given time.
  func text(done: Int64, now: Int64) -> String {
    let seconds = Double(now - startedAt) / 1e9
    let rate = seconds > 0 ? Double(done) / seconds : 0
    let rateText = Quantity.bytes(Int64(rate)) + "/s"
    guard let total else { return "\(label)  \(Quantity.bytes(done))  \(rateText)" }

    let fraction = total > 0 ? min(1, Double(done) / Double(total)) : 1
    let percent = String(Int(fraction * 100))
    let padding = String(repeating: " ", count: 3 - percent.count)
    var text = "\(label) [\(Self.bar(fraction))] \(padding)\(percent)%"
    text += "  \(Quantity.bytes(done)) of \(Quantity.bytes(total))  \(rateText)"
    if rate > 0, let left = Int64(exactly: (Double(max(0, total - done)) / rate).rounded(.up)) {
      text += "  \(Quantity.clock(seconds: left)) left"
    }
    return text
  }

  private static func bar(_ fraction: Double) -> String {
    let width = 20
    let filled = Int(fraction * Double(width))
    guard filled < width else { return String(repeating: "=", count: width) }
    return String(repeating: "=", count: filled) + ">" + String(repeating: " ", count: width - filled - 1)
  }
}
