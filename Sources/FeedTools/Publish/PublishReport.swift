import Service

/// The result of `feedstore publish`.
public struct PublishReport: Sendable, Equatable {
  /// Records sent, including undelivered ones.
  public internal(set) var records = 0
  /// Records that could not be delivered.
  public internal(set) var undelivered = 0
  /// Bytes of keys and values.
  public internal(set) var bytes = 0
  public internal(set) var topics: [String: Int] = [:]
  public internal(set) var nanoseconds: Int64 = 0
  /// Whether a stop was requested before the end of the input.
  public internal(set) var isInterrupted = false

  package init() {}

  /// Whether everything was sent and delivered.
  public var isComplete: Bool { undelivered == 0 && !isInterrupted }

  /// The sum of two runs.
  package func adding(_ other: PublishReport) -> PublishReport {
    var sum = self
    sum.records += other.records
    sum.undelivered += other.undelivered
    sum.bytes += other.bytes
    sum.topics.merge(other.topics) { $0 + $1 }
    sum.nanoseconds += other.nanoseconds
    sum.isInterrupted = isInterrupted || other.isInterrupted
    return sum
  }

  /// The report as text, for standard error.
  public var text: String {
    var table = ReportTable("publish")
    table.add("records", count: records)
    for (topic, count) in topics.sorted(by: { $0.key < $1.key }) { table.add(topic, count: count) }
    table.add("undelivered", count: undelivered)
    table.add("bytes", bytes: bytes)
    table.add("time", nanoseconds: nanoseconds)
    table.add("rate", count: records, perNanoseconds: nanoseconds)
    return table.text + (isInterrupted ? "interrupted before the end of the input\n" : "")
  }
}
