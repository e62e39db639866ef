public import Kafka
public import Oracle

/// A record of a topic, copied.
public struct TopicRecord: Sendable, Equatable {
  public var topic: String
  public var partition: Int32
  public var offset: Int64
  public var timestamp: Int64
  public var key: [UInt8]?
  public var value: [UInt8]?
  public var headers: [String: String] = [:]

  public init(
    topic: String = "",
    partition: Int32 = 0,
    offset: Int64 = 0,
    timestamp: Int64 = 0,
    key: [UInt8]?,
    value: [UInt8]?,
    headers: [Header] = []
  ) {
    self.topic = topic
    self.partition = partition
    self.offset = offset
    self.timestamp = timestamp
    self.key = key
    self.value = value
    for header in headers { self.headers[header.name] = String(decoding: header.value ?? [], as: UTF8.self) }
  }

  public init(_ message: Message, topic: String = "") {
    self.init(
      topic: topic,
      partition: message.partition,
      offset: message.offset,
      timestamp: message.timestampMilliseconds,
      key: message.key.map { Array($0) },
      value: message.payload.map { Array($0) },
      headers: message.headers()
    )
  }

  /// The record for the oracle.
  public var oracleRecord: OracleRecord {
    OracleRecord(
      topic: topic,
      partition: Int(partition),
      offset: Int(offset),
      timestamp: Int(timestamp),
      key: key,
      value: value
    )
  }
}

/// The fields before a changeset's entries, and its key.
public struct ChangesetHead {
  public let key: OracleFeedKey
  /// The part of the record's key before the slash.
  public let slot: String
  /// nil for a Kafka null; the other fields are undefined then.
  public let json: OracleJSON?
  public let epoch: String
  public let revision: Int
  public let base: Int
  public let part: Int
  public let parts: Int
  public let mode: String
  public let reason: String?
  public let checksum: String
  public let through: [String: Int]

  public init(_ record: TopicRecord) throws(BrokerFailure) {
    guard let bytes = record.key, let slash = bytes.firstIndex(of: UInt8(ascii: "/")) else {
      throw BrokerFailure("the key names no feed")
    }
    key = OracleFeedKey(partition: Int(record.partition), id: Array(bytes[(slash + 1)...]))
    slot = String(decoding: bytes[..<slash], as: UTF8.self)
    var json: OracleJSON?
    if let value = record.value {
      guard let parsed = try? OracleJSON.parse(value) else { throw BrokerFailure("the value is not JSON") }
      json = parsed
    }
    self.json = json
    func string(_ name: String) -> String? {
      json?.last(name)?.string.map { String(decoding: $0, as: UTF8.self) }
    }
    func number(_ value: OracleJSON?) -> Int? {
      value.flatMap { Int(String(decoding: $0.minified, as: UTF8.self)) }
    }
    epoch = string("epoch") ?? ""
    revision = number(json?.last("revision")) ?? -1
    base = number(json?.last("base")) ?? -1
    part = number(json?.last("part")) ?? 0
    parts = number(json?.last("parts")) ?? 1
    mode = string("mode") ?? ""
    reason = string("reason")
    checksum = string("checksum") ?? ""
    var through: [String: Int] = [:]
    if case .object(let members)? = json?.last("through")?.content {
      for member in members {
        through[String(decoding: member.name, as: UTF8.self)] = number(member.value) ?? -1
      }
    }
    self.through = through
  }

  public var isKeyframe: Bool { reason == "keyframe" }

  /// The offset of the input record that the epoch is named after.
  public var epochOffset: Int { epoch.split(separator: "/").last.flatMap { Int($0) } ?? -1 }
}
