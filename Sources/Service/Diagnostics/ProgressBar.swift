/// Shows the progress of a long operation on a terminal.
///
/// ```
/// reading [========>           ]  43%  12.3 MB of 28.6 MB  4.5 MB/s  0:04 left
/// ```
///
/// It shows nothing without a terminal, or on one that cannot erase a line (`TERM=dumb`). It uses no colour, so
/// `NO_COLOR` has no effect. Log lines appear above it.
public struct ProgressBar: Sendable {
  private let label: String
  private let total: Int64?
  private let startedAt: Int64
  private let output: DiagnosticOutput
  private var drawnAt: Int64?

  /// The minimum interval between redraws: ten per second.
  private static let interval: Int64 = 100_000_000

  /// - Parameters:
  ///   - label: the operation, in one word.
  ///   - total: the total number of bytes; nil if it is unknown, which omits the bar and the remaining time.
  ///   - now: the time in nanoseconds, from ``MonotonicClock/nanoseconds()``.
  public init(_ label: String, total: Int64?, now: Int64, output: DiagnosticOutput = .standardError) {
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
  public mutating func update(_ done: Int64, now: Int64) {
    guard output.isTerminal, now - (drawnAt ?? startedAt) >= Self.interval else { return }
    drawnAt = now
    output.show(status: String(text(done: done, now: now).prefix(max(0, output.columns - 1))))
  }

  /// Erases the bar. A later update would redraw it.
  public mutating func finish() {
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
