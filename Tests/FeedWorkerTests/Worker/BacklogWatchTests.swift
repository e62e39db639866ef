import Kafka
import Testing

@testable import FeedWorker

struct BacklogWatchTests {
  private static let partitions = [0, 1].map { TopicPartition(topic: "items", partition: $0) }

  @Test func `it is looked now and then, and at once after many records or while the input is behind`() {
    var watch = BacklogWatch(maxRecords: 100)
    let polls: [(records: Int, time: Int64)] = [(0, 5), (999, 14), (1_000, 14), (1, 23), (1, 24), (1, 25)]
    let due = polls.map { watch.isDue(records: $0.records, at: $0.time) }
    #expect(due == [true, false, true, false, true, false])
    watch.poll(isEmpty: false, unread: 100)
    #expect(watch.isBehind)
    let isDue = watch.isDue(records: 1, at: 25)
    #expect(isDue)
    watch.apply(unread: 9)
    #expect(!watch.isBehind)
  }

  @Test func `fetching goes on, one partition after the other, when the queue is half empty`() {
    var watch = BacklogWatch(maxRecords: 10)
    watch.poll(isEmpty: false, unread: 5_000)
    #expect(watch.wake(fetched: 1_000, of: Self.partitions) == nil)
    #expect(watch.wake(fetched: 500, of: Self.partitions) == nil)
    #expect(watch.wake(fetched: 499, of: Self.partitions) == Self.partitions[0])
    #expect(watch.wake(fetched: 499, of: Self.partitions) == Self.partitions[1])
    #expect(watch.wake(fetched: 499, of: []) == nil)
    // What was seen before the input had caught up says nothing of the next time.
    watch.poll(isEmpty: true, unread: 0)
    #expect(watch.wake(fetched: 499, of: Self.partitions) == nil)
  }

  @Test func `memory is given back some time after the input was behind`() {
    var watch = BacklogWatch(maxRecords: 10)
    watch.poll(isEmpty: false, unread: 10)
    #expect(watch.isMemoryReturnDue(at: 1_000) == false)
    watch.poll(isEmpty: true, unread: 0)
    let due = ([10_999, 11_000, 30_000] as [Int64]).map { watch.isMemoryReturnDue(at: $0) }
    #expect(due == [false, true, false])
  }
}
