/// A quantity in a log line: formatted in text; in JSON a plain number, whose field's name ends with the unit.
///
/// ```
/// ["state": LogFigure.bytes(3_400_000)]     state="3.4 MB"     "stateBytes":3400000
/// ```
///
/// Quantities vary between repetitions of an event, so lines that differ only in figures count as repeated.
public struct LogFigure: Sendable, CustomStringConvertible {
  public let description: String
  let number: String
  /// The suffix of the field's name in JSON, unless it already is the whole name; empty for a count.
  let unit: String

  private init(_ number: some BinaryInteger, _ unit: String, _ description: String) {
    self.number = String(number)
    self.unit = unit
    self.description = description
  }

  public static func count(_ count: some BinaryInteger) -> LogFigure {
    LogFigure(count, "", String(count))
  }

  public static func bytes(_ bytes: some BinaryInteger) -> LogFigure {
    LogFigure(bytes, "Bytes", Quantity.bytes(bytes))
  }

  public static func bytesPerSecond(_ bytes: some BinaryInteger) -> LogFigure {
    LogFigure(bytes, "BytesPerSecond", Quantity.bytes(bytes) + "/s")
  }

  public static func duration(milliseconds: Int64) -> LogFigure {
    let nanoseconds = milliseconds.multipliedReportingOverflow(by: 1_000_000)
    return LogFigure(
      milliseconds,
      "Milliseconds",
      Quantity.duration(nanoseconds: nanoseconds.overflow ? .max : nanoseconds.partialValue)
    )
  }

  /// The name of the field in JSON.
  func jsonName(_ name: String) -> String { name.lowercased() == unit.lowercased() ? name : name + unit }
}
