import Changesets
import SimulationSupport

@testable import FeedWorker
@testable import Kafka

/// What a poll of a simulated consumer brought, with bytes that stay where they are until the next.
final class SimulatedBatch: ConsumedBatch {
  struct Record: ConsumedRecord {
    let topicIndex: Int
    let partition: Int32
    let offset: Int64
    let timestampMilliseconds: Int64
    let key: UnsafeRawBufferPointer?
    let payload: UnsafeRawBufferPointer?

    var size: Int { (key?.count ?? 0) + (payload?.count ?? 0) }
    func header(_ name: StaticString) -> UnsafeRawBufferPointer? { nil }
  }

  let capacity: Int
  private var records: [Record] = []
  private(set) var events: [ConsumerEvent] = []
  private(set) var rebalance: Rebalance?
  private var blocks: [UnsafeMutableRawBufferPointer] = []

  init(capacity: Int) { self.capacity = capacity }

  deinit { recycle() }

  var count: Int { records.count }
  subscript(index: Int) -> Record { records[index] }

  func recycle() {
    for block in blocks { block.deallocate() }
    blocks = []
    records = []
    events = []
    rebalance = nil
  }

  func take(_ polled: PolledRecords, topicIndex: (String) -> Int) {
    recycle()
    for (partition, offset, record) in polled.records {
      records.append(
        Record(
          topicIndex: topicIndex(partition.topic),
          partition: partition.partition,
          offset: offset,
          timestampMilliseconds: record.timestamp,
          key: record.key.map(copy),
          payload: record.value.map(copy)
        )
      )
    }
    events = polled.events.map { event in
      switch event {
      case .end(let partition, let offset):
        .endOfPartition(topic: topicIndex(partition.topic), partition: partition.partition, offset: offset)
      case .error(let error): .error(error)
      }
    }
    rebalance = polled.rebalance
  }

  private func copy(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    block.copyBytes(from: bytes)
    blocks.append(block)
    return UnsafeRawBufferPointer(block)
  }
}
