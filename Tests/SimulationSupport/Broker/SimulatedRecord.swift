public import Kafka

/// A record as a broker keeps it.
public struct SimulatedRecord {
  public var key: [UInt8]?
  public var value: [UInt8]?
  public var headers: [Header]
  /// Milliseconds since 1970.
  public var timestamp: Int64

  public init(key: [UInt8]?, value: [UInt8]?, headers: [Header] = [], timestamp: Int64) {
    self.key = key
    self.value = value
    self.headers = headers
    self.timestamp = timestamp
  }
}
