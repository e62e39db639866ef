package import Feed
package import FeedStore
import Glibc

/// The records that a store has published to one partition, in memory, in the order of their offsets.
///
/// Unchecked: one task uses it at a time.
package final class ChangesetLog: @unchecked Sendable {
  private var bytes: UnsafeMutablePointer<UInt8>
  private var capacity = 1 << 20
  /// Bytes of all keys and values.
  package private(set) var byteCount = 0
  /// The end of each record, and whether it is a null.
  private var records: [(keyEnd: Int, valueEnd: Int, isNull: Bool)] = []

  package init() {
    bytes = .allocate(capacity: capacity)
  }

  deinit { bytes.deallocate() }

  package var count: Int { records.count }

  package func append(_ publication: borrowing Publication) {
    for record in publication.records {
      append(publication.bytes(record.key))
      let keyEnd = byteCount
      if let value = record.value { append(publication.bytes(value)) }
      records.append((keyEnd, byteCount, record.value == nil))
    }
  }

  private func append(_ span: ByteSpan) {
    if byteCount + span.count > capacity {
      let larger = max(capacity * 2, byteCount + span.count)
      let moved = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
      memcpy(moved, bytes, byteCount)
      bytes.deallocate()
      bytes = moved
      capacity = larger
    }
    memcpy(bytes + byteCount, span.base, span.count)
    byteCount += span.count
  }

  package func visit(_ body: (_ key: ByteSpan, _ value: ByteSpan?) -> Void) {
    var start = 0
    for (number, record) in records.enumerated() {
      // As the daemon's reader does.
      if number + LookAhead.distance < records.count {
        let next = records[number + LookAhead.distance]
        LookAhead.prefetch(ByteSpan(bytes + next.keyEnd, next.valueEnd - next.keyEnd))
      }
      let value = ByteSpan(bytes + record.keyEnd, record.valueEnd - record.keyEnd)
      body(ByteSpan(bytes + start, record.keyEnd - start), record.isNull ? nil : value)
      start = record.valueEnd
    }
  }
}
