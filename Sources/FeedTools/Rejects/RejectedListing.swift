package import Diagnostics
import Feed
package import FeedConfiguration
import FoundationEssentials
import Kafka
import OperatingSystem

/// `feedstore rejects list`: lists the records of the rejected topic, one per line.
package enum RejectedListing {
  /// The codes that the daemon uses.
  package static var knownCodes: [String] { RejectCode.allCases.map(\.rawValue) }

  /// Reads each partition from its beginning to its current end, one after the other.
  ///
  /// - Parameters:
  ///   - code: list only records with this code; nil for all.
  ///   - sinceMilliseconds: list only records from this time on, in milliseconds since 1970; nil for all.
  ///   - isJSON: whether lines are JSON.
  ///   - write: prints text; returns false if the reader has closed the output.
  /// - Throws: ``ConfigurationError``; ``DaemonError`` if the topic does not exist or sends no records.
  package static func run(
    _ configuration: FeedStoreConfiguration,
    code: String? = nil,
    sinceMilliseconds: Int64? = nil,
    isJSON: Bool,
    log: Log,
    write: @escaping @Sendable (String) -> Bool
  ) async throws -> RejectedReport {
    try await WorkerThread.withKafka("rejects", configuration) { settings in
      let reader = try TopicReader.ofRejected(settings, configuration, log: log)
      defer { try? reader.close() }
      var report = RejectedReport()
      var isRead = true
      for partition in 0..<(try reader.partitionCount()) where isRead {
        let marks = try reader.watermarks(partition)
        try reader.read([partition: marks.low..<marks.high]) { message in
          let copy = RejectedCopy(message)
          if let code, copy.code != code { return true }
          if let sinceMilliseconds, copy.timestampMilliseconds < sinceMilliseconds { return true }
          report.count(copy)
          isRead = write(isJSON ? RejectedLine.json(copy) : RejectedLine.text(copy))
          return isRead
        }
      }
      return report
    }
  }
}

/// Formats a rejected record, as a line or in full.
enum RejectedLine {
  /// A readable line, in columns: position, time, code, key, source, message.
  static func text(_ copy: RejectedCopy) -> String {
    let source = copy.source.map { "\($0.topic) \($0.partition)/\($0.offset.map(String.init) ?? "?")" } ?? "-"
    let columns: [(String, Int)] = [
      (copy.position.description, 9), (Timestamp.rfc3339(milliseconds: copy.timestampMilliseconds), 24),
      (copy.code ?? "-", 15), (UpdateText.cut(key(copy), of: copy.wholeKeyBytes), 16), (source, 20),
    ]
    let line = columns.map { FollowLine.padded(UpdateText.cut($0.0, most: 300), $0.1) }.joined(
      separator: "  "
    )
    return UpdateText.printable(line + "  " + UpdateText.cut(copy.message ?? "-", most: UpdateText.mostLine))
      + "\n"
  }

  /// A line of JSON; see docs/schemas/rejected-line.schema.json.
  static func json(_ copy: RejectedCopy) -> String {
    let isText = copy.key.map { String(validating: $0, as: UTF8.self) != nil } ?? true
    return JSONLine.object([
      ("partition", String(copy.position.partition)), ("offset", String(copy.position.offset)),
      ("time", JSONLine.quoted(Timestamp.rfc3339(milliseconds: copy.timestampMilliseconds))),
      ("code", JSONLine.text(copy.code)), ("message", JSONLine.text(copy.message)),
      ("key", isText ? JSONLine.text(copy.key.map { String(decoding: $0, as: UTF8.self) }) : nil),
      ("keyBase64", isText ? nil : copy.key.map { JSONLine.quoted(Data($0).base64EncodedString()) }),
      ("valueBytes", copy.value.map { String($0.count) } ?? "null"),
      ("wholeKeyBytes", copy.wholeKeyBytes.map(String.init)),
      ("wholeValueBytes", copy.wholeValueBytes.map(String.init)),
      ("source", copy.source.map(json) ?? "null"),
    ]) + "\n"
  }

  /// Everything except the value, one readable line each.
  static func details(_ copy: RejectedCopy, topic: String) -> String {
    var lines = [
      ("record", "\(topic) [\(copy.position.partition)], offset \(copy.position.offset)"),
      ("time", Timestamp.rfc3339(milliseconds: copy.timestampMilliseconds)), ("key", key(copy)),
    ]
    lines += copy.headers.map { ($0.name, $0.value.map { String(decoding: $0, as: UTF8.self) } ?? "(null)") }
    lines.append(("value", copy.value.map { "\($0.count) bytes" } ?? "(null)"))
    let width = lines.map(\.0.count).max() ?? 0
    return lines.map { UpdateText.printable(FollowLine.padded($0.0, width) + "  " + $0.1) + "\n" }.joined()
  }

  private static func key(_ copy: RejectedCopy) -> String {
    copy.key.map { String(decoding: $0, as: UTF8.self) } ?? "(null)"
  }

  private static func json(_ source: RejectedSource) -> String {
    JSONLine.object([
      ("topic", JSONLine.quoted(source.topic)), ("partition", String(source.partition)),
      ("offset", source.offset.map(String.init) ?? "null"),
      ("timestamp", source.timestampMilliseconds.map(String.init) ?? "null"),
    ])
  }
}

/// The number of listed records, by code.
package struct RejectedReport: Sendable, Equatable {
  package private(set) var records = 0
  private var codes: [RejectCode: Int] = [:]

  mutating func count(_ copy: RejectedCopy) {
    records += 1
    // Unknown codes, from other writers, could be any number.
    if let code = copy.code.flatMap({ RejectCode(rawValue: $0) }) { codes[code, default: 0] += 1 }
  }

  /// The report in words, for standard error.
  package var text: String {
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

/// `feedstore rejects show`: one record of the rejected topic, in full.
package struct RejectedExcerpt: Sendable {
  /// Its position, its headers and the size of its value, one per line.
  package let details: String
  /// The bytes of its value; nil for a null.
  package let value: [UInt8]?

  /// Reads the record.
  ///
  /// - Throws: ``ConfigurationError``; ``DaemonError`` if the record does not exist, or no records arrive.
  package static func read(
    _ position: RejectedPosition,
    _ configuration: FeedStoreConfiguration,
    log: Log
  ) async throws -> RejectedExcerpt {
    try await WorkerThread.withKafka("rejects", configuration) { settings in
      let reader = try TopicReader.ofRejected(settings, configuration, log: log)
      defer { try? reader.close() }
      let copy = try reader.rejectedCopy(at: position)
      return RejectedExcerpt(details: RejectedLine.details(copy, topic: reader.topic), value: copy.value)
    }
  }

  /// The value as text without terminal control characters.
  package var printableValue: String {
    guard let value else { return "" }
    return String(decoding: value, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
      .map { UpdateText.printable(String($0)) }.joined(separator: "\n") + "\n"
  }
}
