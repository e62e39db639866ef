import Foundation

/// Parses lines of a replay file (protocol, section 7) into records.
public struct ReplayLines {
  private var nextOffsets: [String: Int] = [:]
  private var timestamp = 0

  public init() {}

  /// The records of a whole file.
  public static func records(_ file: [UInt8]) throws(JudgeFailure) -> [OracleRecord] {
    var lines = ReplayLines()
    var records: [OracleRecord] = []
    for line in file.split(separator: UInt8(ascii: "\n")) {
      guard let json = try? OracleJSON.parse(Array(line)) else {
        throw JudgeFailure("a line is not JSON: \(String(decoding: line, as: UTF8.self))")
      }
      records.append(lines.record(json))
    }
    return records
  }

  /// The record of the next line.
  public mutating func record(_ line: OracleJSON) -> OracleRecord {
    let topic = line.last("topic")?.string.map { String(decoding: $0, as: UTF8.self) } ?? "feeds.items"
    let partition = Self.number(line, "partition") ?? 0
    let place = "\(topic)/\(partition)"
    let offset = Self.number(line, "offset") ?? nextOffsets[place] ?? 0
    nextOffsets[place] = offset + 1
    timestamp = Self.number(line, "ts") ?? timestamp
    return OracleRecord(
      topic: topic,
      partition: partition,
      offset: offset,
      timestamp: timestamp,
      key: line.last("key")?.string ?? Self.base64(line, "keyBase64"),
      value: Self.value(line)
    )
  }

  private static func value(_ line: OracleJSON) -> [UInt8]? {
    if let value = line.last("value") { return value.content == .null ? nil : value.minified }
    return line.last("payload")?.string ?? base64(line, "payloadBase64")
  }

  private static func base64(_ line: OracleJSON, _ name: String) -> [UInt8]? {
    guard let text = line.last(name)?.string else { return nil }
    return Data(base64Encoded: Data(text)).map(Array.init)
  }

  private static func number(_ line: OracleJSON, _ name: String) -> Int? {
    line.last(name).flatMap { Int(String(decoding: $0.minified, as: UTF8.self)) }
  }
}
