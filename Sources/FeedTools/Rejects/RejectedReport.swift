import Feed
import Service

/// The number of listed records, by code.
public struct RejectedReport: Sendable, Equatable {
  public private(set) var records = 0
  private var codes: [RejectCode: Int] = [:]

  mutating func count(_ copy: RejectedCopy) {
    records += 1
    // Unknown codes, written by others, could be any number.
    if let code = copy.code.flatMap({ RejectCode(rawValue: $0) }) { codes[code, default: 0] += 1 }
  }

  /// The report in words, for standard error.
  public var text: String {
    var table = ReportTable("rejects")
    table.add("records", count: records)
    for (code, count) in codes.sorted(by: { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }) {
      table.add("  " + code.rawValue, count: count)
    }
    let others = records - codes.values.reduce(0, +)
    if others > 0 { table.add("  of unknown codes", count: others) }
    return table.text
  }
}
