/// Lines of label and value, aligned, for the end of a run.
///
/// ```
/// replay
///   records     1,234,567
///   read          45.6 MB
///   longest  feeds.items/3
/// ```
public struct ReportTable: Sendable {
  private let title: String
  private var rows: [(label: String, value: String)] = []

  /// - Parameter title: The line above the others; none if empty.
  public init(_ title: String = "") {
    self.title = title
  }

  /// A number of things.
  public mutating func add(_ label: String, count: some BinaryInteger) {
    rows.append((label, Quantity.count(count)))
  }

  /// An amount of data.
  public mutating func add(_ label: String, bytes: some BinaryInteger) {
    rows.append((label, Quantity.bytes(bytes)))
  }

  /// A length of time.
  public mutating func add(_ label: String, nanoseconds: Int64) {
    rows.append((label, Quantity.duration(nanoseconds: nanoseconds)))
  }

  /// How many of something a second; `-` when no time has passed.
  public mutating func add(_ label: String, count: some BinaryInteger, perNanoseconds nanoseconds: Int64) {
    let rate = Double(count) / (Double(nanoseconds) / 1e9)
    rows.append((label, rate.isFinite ? Quantity.fixed(rate, digits: 0) + "/s" : "-"))
  }

  /// Anything else.
  public mutating func add(_ label: String, text: String) {
    rows.append((label, text))
  }

  /// The report, every line ended by a line feed: labels to the left, values to the right.
  public var text: String {
    let labelWidth = rows.map(\.label.count).max() ?? 0
    let valueWidth = rows.map(\.value.count).max() ?? 0
    return rows.reduce(into: title.isEmpty ? "" : title + "\n") { text, row in
      let space = labelWidth - row.label.count + 2 + valueWidth - row.value.count
      text += "  " + row.label + String(repeating: " ", count: space) + row.value + "\n"
    }
  }
}
