/// A report at the end of a run: aligned lines of labels and values.
///
/// ```
/// replay
///   records     1,234,567
///   read          45.6 MB
///   longest  feeds.items/3
/// ```
package struct ReportTable: Sendable {
  private let title: String
  private var rows: [(label: String, value: String)] = []

  /// - Parameter title: the first line; none if empty.
  package init(_ title: String = "") {
    self.title = title
  }

  package mutating func add(_ label: String, count: some BinaryInteger) {
    rows.append((label, Quantity.count(count)))
  }

  package mutating func add(_ label: String, bytes: some BinaryInteger) {
    rows.append((label, Quantity.bytes(bytes)))
  }

  package mutating func add(_ label: String, nanoseconds: Int64) {
    rows.append((label, Quantity.duration(nanoseconds: nanoseconds)))
  }

  /// Adds a rate per second; `-` if no time has passed.
  package mutating func add(_ label: String, count: some BinaryInteger, perNanoseconds nanoseconds: Int64) {
    let rate = Double(count) / (Double(nanoseconds) / 1e9)
    rows.append((label, rate.isFinite ? Quantity.fixed(rate, digits: 0) + "/s" : "-"))
  }

  package mutating func add(_ label: String, text: String) { rows.append((label, text)) }

  /// The report, with labels left-aligned and values right-aligned. Every line ends with a line feed.
  package var text: String {
    let labelWidth = rows.map(\.label.count).max() ?? 0
    let valueWidth = rows.map(\.value.count).max() ?? 0
    return rows.reduce(into: title.isEmpty ? "" : title + "\n") { text, row in
      let space = labelWidth - row.label.count + 2 + valueWidth - row.value.count
      text += "  " + row.label + String(repeating: " ", count: space) + row.value + "\n"
    }
  }
}
