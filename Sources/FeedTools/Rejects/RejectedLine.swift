import Feed
import FeedKafka
import Kafka
import Service

/// Formats a rejected record, as a line or in full.
enum RejectedLine {
  /// A readable line, in columns: place, time, code, key, source, message.
  static func text(_ copy: RejectedCopy) -> String {
    let source = copy.source.map { "\($0.topic) \($0.partition)/\($0.offset.map(String.init) ?? "?")" } ?? "-"
    let columns: [(String, Int)] = [
      (copy.place.description, 9), (Timestamp.rfc3339(milliseconds: copy.timestampMilliseconds), 24),
      (copy.code ?? "-", 15), (key(copy), 16), (source, 20),
    ]
    let line = columns.map { FollowLine.padded($0.0, $0.1) }.joined(separator: "  ")
    return UpdateText.printable(line + "  " + (copy.message ?? "-")) + "\n"
  }

  /// A line of JSON; see docs/schemas/rejected-line.schema.json.
  static func json(_ copy: RejectedCopy) -> String {
    var fields = [
      ("partition", String(copy.place.partition)), ("offset", String(copy.place.offset)),
      ("time", quoted(Timestamp.rfc3339(milliseconds: copy.timestampMilliseconds))),
      ("code", copy.code.map(quoted) ?? "null"), ("message", copy.message.map(quoted) ?? "null"),
    ]
    if let key = copy.key, String(validating: key, as: UTF8.self) == nil {
      fields.append(("keyBase64", quoted(base64(key))))
    } else {
      fields.append(("key", copy.key.map { quoted(String(decoding: $0, as: UTF8.self)) } ?? "null"))
    }
    fields.append(("valueBytes", copy.value.map { String($0.count) } ?? "null"))
    if let bytes = copy.wholeKeyBytes { fields.append(("wholeKeyBytes", String(bytes))) }
    if let bytes = copy.wholeValueBytes { fields.append(("wholeValueBytes", String(bytes))) }
    fields.append(("source", copy.source.map(json) ?? "null"))
    return object(fields) + "\n"
  }

  /// Everything except the value, one readable line each.
  static func details(_ copy: RejectedCopy, topic: String) -> String {
    var lines = [
      ("record", "\(topic) [\(copy.place.partition)], offset \(copy.place.offset)"),
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
    object([
      ("topic", quoted(source.topic)), ("partition", String(source.partition)),
      ("offset", source.offset.map(String.init) ?? "null"),
      ("timestamp", source.timestampMilliseconds.map(String.init) ?? "null"),
    ])
  }

  private static func object(_ fields: [(String, String)]) -> String {
    "{" + fields.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
  }

  private static func quoted(_ text: String) -> String { JSONData(string: text).description }

  private static func base64(_ bytes: [UInt8]) -> String {
    let writer = ByteWriter()
    let owned = OwnedBytes(bytes)
    if let bytes = owned.bytes { writer.append(base64: ByteSpan(bytes)) }
    return String(decoding: writer.written.buffer, as: UTF8.self)
  }
}
