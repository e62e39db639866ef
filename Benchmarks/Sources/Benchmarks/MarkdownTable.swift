/// A table whose first column is text and whose other columns are numbers.
struct MarkdownTable {
  private let header: [String]
  private var rows: [[String]] = []

  init(_ header: [String]) { self.header = header }
  init(_ header: String...) { self.header = header }

  mutating func add(_ cells: [String]) { rows.append(cells) }
  mutating func add(_ cells: String...) { rows.append(cells) }

  var text: String {
    func line(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |\n" }
    let rule = header.indices.map { $0 == 0 ? "---" : "---:" }
    return line(header) + line(rule) + rows.map(line).joined()
  }
}

/// Numbers with two or three significant digits and a suitable unit.
enum Format {
  static func microseconds(_ nanoseconds: Double) -> String { decimal(nanoseconds / 1e3) + " µs" }
  static func milliseconds(_ nanoseconds: Double) -> String { decimal(nanoseconds / 1e6) + " ms" }
  static func seconds(_ nanoseconds: Double) -> String { decimal(nanoseconds / 1e9) + " s" }
  static func megabytes(_ bytes: Int) -> String { grouped(Int((Double(bytes) / 1e6).rounded())) + " MB" }

  /// A number with two decimals below 10, one below 100, and otherwise none.
  static func decimal(_ value: Double) -> String {
    let digits = value < 10 ? 100.0 : value < 100 ? 10.0 : 1.0
    let rounded = (value * digits).rounded() / digits
    return digits == 1 ? grouped(Int(rounded)) : "\(rounded)"
  }

  /// A number with thousands separators.
  static func grouped(_ value: Int) -> String {
    var text = ""
    for (position, digit) in String(value).reversed().enumerated() {
      if position > 0, position % 3 == 0 { text.append(",") }
      text.append(digit)
    }
    return String(text.reversed())
  }
}
