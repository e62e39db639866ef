package import Feed
import FeedStore

/// Records in one block of memory, created before measuring.
package final class RecordList: InputBatch, @unchecked Sendable {
  private let bytes: UnsafeMutableRawBufferPointer
  /// The ends of each record's key and value.
  @exclusivity(unchecked) private var ends: [(key: Int, value: Int)] = []
  /// Shared by all lists, as a client's names are by its records.
  package static let items = Array("feeds.items".utf8)

  private let topic: [UInt8]
  private let firstOffset: Int64
  @exclusivity(unchecked) private var next = 0

  package init(_ records: [(feed: String, text: String)], topic: [UInt8] = items, firstOffset: Int64) {
    self.topic = topic
    self.firstOffset = firstOffset
    let total = records.reduce(0) { $0 + $1.feed.utf8.count + $1.text.utf8.count }
    bytes = .allocate(byteCount: max(1, total), alignment: 64)
    var count = 0
    func append(_ text: String) -> Int {
      bytes[count...].copyBytes(from: text.utf8)
      count += text.utf8.count
      return count
    }
    for record in records { ends.append((append(record.feed), append(record.text))) }
  }

  deinit { bytes.deallocate() }

  package func current() -> InputRecord? {
    guard let (_, key, value) = upcoming(0) else { return nil }
    return InputRecord(
      partition: 0,
      position: RecordPosition(topic: topic, offset: firstOffset + Int64(next), timestamp: 0),
      key: key,
      value: .bytes(value)
    )
  }

  package func advance() { next += 1 }

  package func upcoming(_ distance: Int) -> (partition: Int32, key: ByteSpan, value: ByteSpan)? {
    let number = next + distance
    guard number < ends.count else { return nil }
    let start = number == 0 ? 0 : ends[number - 1].value
    let end = ends[number]
    return (0, span(start..<end.key), span(end.key..<end.value))
  }

  private func span(_ range: Range<Int>) -> ByteSpan {
    ByteSpan(UnsafeRawBufferPointer(rebasing: bytes[range]))
  }
}
