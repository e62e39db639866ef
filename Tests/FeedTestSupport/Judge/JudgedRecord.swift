/// A record of the changesets topic, as it was or is to be written.
public struct JudgedRecord: Sendable, Equatable, CustomStringConvertible {
  public var partition: Int
  public var key: [UInt8]
  /// Nil for a null.
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

  public var description: String {
    let list = headers.map { "\($0.name): \(String(decoding: $0.value, as: UTF8.self))" }
    return """
      partition \(partition), timestamp \(timestamp), key \(String(decoding: key, as: UTF8.self))
        value \(value.map { String(decoding: $0, as: UTF8.self) } ?? "null")
        headers \(list.joined(separator: "; "))
      """
  }
}
