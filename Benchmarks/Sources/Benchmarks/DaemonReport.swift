/// The numbers in the daemon's final report.
struct DaemonReport {
  private let lines: [Substring]

  init(_ text: String) { lines = text.split(separator: "\n") }

  /// The sum of all numbers in a row of the table.
  func sum(of row: String) -> Int {
    guard let line = lines.last(where: { $0.drop { $0 == " " }.hasPrefix(row + " ") }) else { return 0 }
    return line.split(separator: " ").reduce(0) { $0 + (Int($1.filter { $0 != "," }) ?? 0) }
  }

  /// The text of a row of the table.
  func text(of row: String) -> String {
    guard let line = lines.last(where: { $0.drop { $0 == " " }.hasPrefix(row + " ") }) else { return "" }
    return String(line.drop { $0 == " " }.dropFirst(row.count).drop { $0 == " " })
  }
}
