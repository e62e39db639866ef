import Kafka

/// How far a partition of the changesets topic has been read, of what was in it at the beginning.
struct RestoredPartition: Equatable {
  let number: Int32
  /// Everything before it was read.
  private(set) var position: Int64
  /// Where what has to be read ends.
  let end: Int64

  /// - Parameter position: everything before it was read already; nil if nothing was.
  init(_ number: Int32, _ ends: Watermarks, from position: Int64? = nil) {
    self.number = number
    self.position = position ?? ends.low
    end = ends.high
  }

  var isRead: Bool { position >= end }
  /// Offsets that are left; markers of transactions and what compaction removed are no records.
  var remaining: Int64 { max(0, end - position) }

  /// Everything before this offset was read.
  mutating func advance(to offset: Int64) { position = max(position, offset) }
}
