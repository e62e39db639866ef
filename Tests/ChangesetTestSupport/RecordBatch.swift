public import Feed
public import FeedStore
public import Oracle

/// A batch of test records. The bytes live as long as the batch.
public final class RecordBatch: InputBatch, @unchecked Sendable {
  private let records: [OracleRecord]
  private var next = 0
  private var blocks: [UnsafeMutableRawBufferPointer] = []

  public init(_ records: [OracleRecord]) { self.records = records }

  deinit { for block in blocks { block.deallocate() } }

  private func span(_ bytes: [UInt8]) -> ByteSpan {
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    block.copyBytes(from: bytes)
    blocks.append(block)
    return ByteSpan(UnsafeRawBufferPointer(block))
  }

  public func current() -> InputRecord? {
    guard next < records.count else { return nil }
    let record = records[next]
    return InputRecord(
      partition: Int32(record.partition),
      position: RecordPosition(
        topic: Array(record.topic.utf8),
        offset: Int64(record.offset),
        timestamp: Int64(record.timestamp)
      ),
      key: record.key.map(span),
      value: record.value.map { .bytes(span($0)) } ?? .null
    )
  }

  public func advance() { next += 1 }

  public func upcoming(_ distance: Int) -> (partition: Int32, key: ByteSpan, value: ByteSpan)? {
    guard next + distance < records.count else { return nil }
    let record = records[next + distance]
    guard let key = record.key, let value = record.value else { return nil }
    return (Int32(record.partition), span(key), span(value))
  }
}
