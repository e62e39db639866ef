import Synchronization

/// How large a record on the rejected topic may be: what is longer is cut, as it could never be sent.
///
/// A class, as the topic's own limit is found out while the workers run already.
package final class RejectedRecordLimit: Sendable {
  private let maxMessageBytes: Atomic<Int>

  /// `max.message.bytes` of a topic where neither it nor its brokers say otherwise.
  static let defaultBytes = 1_048_588
  /// More than what Kafka adds to a record that is alone in its batch, and to its headers.
  private static let overheadBytes = 1_024

  package init(maxMessageBytes: Int = defaultBytes) {
    self.maxMessageBytes = Atomic(maxMessageBytes)
  }

  /// The topic tells its limit.
  func set(maxMessageBytes: Int) {
    self.maxMessageBytes.store(maxMessageBytes, ordering: .relaxed)
  }

  /// How much of a record's key and value can be sent: all of both if they fit; else the value is cut, and the
  /// key only if it is too long by itself.
  func cut(keyBytes: Int, valueBytes: Int, headerBytes: Int) -> (keyBytes: Int, valueBytes: Int) {
    let limit = maxMessageBytes.load(ordering: .relaxed)
    let available = max(0, limit - Self.overheadBytes - headerBytes)
    let key = min(keyBytes, available)
    return (key, min(valueBytes, available - key))
  }
}
