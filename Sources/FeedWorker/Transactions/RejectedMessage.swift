import Feed
package import FeedKafka
package import FeedStore
package import Kafka
import Synchronization

/// A rejected record as it is sent: with headers that say why, and cut to what its topic takes.
package struct RejectedMessage: ~Copyable {
  package private(set) var headers = HeaderList()
  package let key: OwnedBytes
  package let value: OwnedBytes

  package init(_ record: RejectedRecord, _ limits: RejectedRecordLimit) {
    var headers = HeaderList()
    RejectedHeaders.forEach(record) { name, value in headers.append(name, value.rawBuffer) }
    let (keyBytes, valueBytes) = limits.cut(
      keyBytes: record.key?.count ?? 0,
      valueBytes: record.value?.count ?? 0,
      headerBytes: headers.byteCount
    )
    if let key = record.key, keyBytes < key.count {
      headers.append("feedstore.key.truncated", String(key.count))
    }
    if let value = record.value, valueBytes < value.count {
      headers.append("feedstore.value.truncated", String(value.count))
    }
    key = OwnedBytes(record.key, first: keyBytes)
    value = OwnedBytes(record.value, first: valueBytes)
    self.headers = headers
  }
}

/// How large a record on the rejected topic may be: what is longer is cut, as it could never be sent.
///
/// A class, as the topic's own limit is found out while the workers run already.
package final class RejectedRecordLimit: Sendable {
  private let maxMessageBytes: Atomic<Int>

  /// More than what Kafka adds to a record that is alone in its batch, and to its headers.
  private static let overheadBytes = 1_024

  package init(maxMessageBytes: Int = Int(TopicRequirements.usualMessageBytes)) {
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
