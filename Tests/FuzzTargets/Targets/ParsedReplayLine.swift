import Feed
import Oracle

/// The content of a replay line.
struct ParsedReplayLine: Equatable {
  private let topic: [UInt8]
  private let partition: Int32
  private let offset: Int64
  private let timestamp: Int64
  private let headers: [[UInt8]?]
  private let key: [UInt8]?
  /// nil for a Kafka null.
  private let value: [UInt8]?

  /// nil for a line that is blank or refused.
  init?(_ line: [UInt8], _ parser: ReplayLineParser) {
    let copied = line.withOwnSpan { line -> ParsedReplayLine? in
      do throws(ReplayLineError) {
        return try parser.parse(line).map { ParsedReplayLine($0, parser.headers) }
      } catch {
        return nil
      }
    }
    guard let copied else { return nil }
    self = copied
  }

  private init(_ record: InputRecord, _ headers: [ByteSpan?]) {
    topic = record.position.topic
    partition = record.partition
    offset = record.position.offset
    timestamp = record.position.timestamp
    self.headers = headers.map { $0.map { Array($0.buffer) } }
    key = record.key.map { Array($0.buffer) }
    value = record.valueBytes.map { Array($0.buffer) }
  }

  /// The line with all fields; nil if some bytes are not UTF-8, which a line cannot contain.
  var spelled: [UInt8]? {
    let texts = [topic, key, value] + headers
    guard texts.allSatisfy({ OracleUTF8.isValid($0 ?? []) }) else { return nil }
    let headers = headers.map(Self.quoted).joined(separator: ",")
    let line = """
      {"topic":\(Self.quoted(topic)),"partition":\(partition),"offset":\(offset),"ts":\(timestamp),\
      "headers":[\(headers)],"key":\(Self.quoted(key)),"payload":\(Self.quoted(value))}
      """
    return Array(line.utf8)
  }

  private static func quoted(_ text: [UInt8]?) -> String {
    guard let text else { return "null" }
    var quoted = "\""
    for scalar in text.text.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case _ where scalar.value < 0x20:
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}
