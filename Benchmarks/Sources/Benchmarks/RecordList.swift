import Feed
import FeedStore

/// Records of one feed in one block of memory, made before the clock starts.
final class RecordList: InputBatch, @unchecked Sendable {
  private static let key: StaticString = "feed"
  private static let topic = Array("feeds.items".utf8)

  private let values: UnsafeMutableRawBufferPointer
  private var ends: [Int] = []
  private let firstOffset: Int64
  private var next = 0

  init(_ texts: [String], firstOffset: Int64) {
    self.firstOffset = firstOffset
    values = .allocate(byteCount: max(1, texts.reduce(0) { $0 + $1.utf8.count }), alignment: 64)
    var count = 0
    for text in texts {
      values[count...].copyBytes(from: text.utf8)
      count += text.utf8.count
      ends.append(count)
    }
  }

  deinit { values.deallocate() }

  func current() -> InputRecord? {
    guard next < ends.count else { return nil }
    let start = next == 0 ? 0 : ends[next - 1]
    return InputRecord(
      partition: 0,
      position: RecordPosition(topic: Self.topic, offset: firstOffset + Int64(next), timestamp: 0),
      key: ByteSpan(Self.key),
      value: .bytes(ByteSpan(UnsafeRawBufferPointer(rebasing: values[start..<ends[next]])))
    )
  }

  func advance() { next += 1 }
}
