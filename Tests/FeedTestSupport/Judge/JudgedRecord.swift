/// A record of the changesets topic, actual or expected.
public struct JudgedRecord: Sendable, Equatable, CustomStringConvertible {
  public var partition: Int
  public var key: [UInt8]
  /// nil for a Kafka null.
  public var value: [UInt8]?
  public var headers: [JudgedHeader]
  /// Milliseconds since 1970: the changeset's `time`.
  public var timestamp: Int

  public init(partition: Int, key: [UInt8], value: [UInt8]?, headers: [JudgedHeader], timestamp: Int) {
    self.partition = partition
    self.key = key
    self.value = value
    self.headers = headers
    self.timestamp = timestamp
  }

  /// Parses a line of a replay's output: topic, partition, offset, ts, headers, key and value, in that order and
  /// nothing else. The value is minified, so white space in it is not detected.
  public init(replayLine line: [UInt8]) throws(JudgeFailure) {
    guard let json = try? OracleJSON.parse(line), case .object(let members) = json.content,
      members.map({ String(decoding: $0.name, as: UTF8.self) })
        == ["topic", "partition", "offset", "ts", "headers", "key", "value"],
      let partition = Int(String(decoding: members[1].value.minified, as: UTF8.self)),
      let timestamp = Int(String(decoding: members[3].value.minified, as: UTF8.self)),
      let words = members[4].value.elements?.compactMap(\.string), words.count % 2 == 0,
      let key = members[5].value.string
    else { throw JudgeFailure("no record of a replay's output: \(String(decoding: line, as: UTF8.self))") }
    let value = members[6].value
    self.init(
      partition: partition,
      key: key,
      value: value.content == .null ? nil : value.minified,
      headers: stride(from: 0, to: words.count, by: 2).map { index in
        JudgedHeader(String(decoding: words[index], as: UTF8.self), words[index + 1])
      },
      timestamp: timestamp
    )
  }

  public var description: String {
    let list = headers.map { "\($0.name): \(String(decoding: $0.value, as: UTF8.self))" }
    return """
      partition \(partition), timestamp \(timestamp), key \(String(decoding: key, as: UTF8.self))
        value \(value.map { String(decoding: $0, as: UTF8.self) } ?? "null")
        headers \(list.joined(separator: "; "))
      """
  }
}
