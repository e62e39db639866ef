package import FeedStore
import Service

/// The newest records that a process has rejected, oldest first, with the beginnings of their keys and values.
package struct RecentRejections: Sendable {
  package struct Entry: Sendable {
    /// When the copy was committed, in milliseconds since 1970.
    package let time: Int64
    /// With at most ``RecentRejections/keptBytes`` of its key and of its value.
    package let record: RejectedRecord
    /// The size of the whole value; nil for a null.
    package let valueBytes: Int?
  }

  package static let limit = 100
  package static let keptBytes = 4096

  package private(set) var entries: [Entry] = []

  package init() {}

  /// Adds records that were rejected together, in their order.
  package mutating func add(_ records: [RejectedRecord], at time: Int64) {
    for record in records.suffix(Self.limit) {
      var short = record
      short.key = record.key.map { Array($0.prefix(Self.keptBytes)) }
      short.value = record.value.map { Array($0.prefix(Self.keptBytes)) }
      entries.append(Entry(time: time, record: short, valueBytes: record.value?.count))
    }
    entries.removeFirst(max(0, entries.count - Self.limit))
  }
}
