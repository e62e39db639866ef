import Kafka
import Testing

@testable import FeedTransactions

@Suite struct BacklogTests {
  /// What each step leaves, in order.
  private func states(_ steps: [(inout Backlog) -> Void], maxRecords: Int = 1_000) -> [Bool] {
    var backlog = Backlog(maxRecords: maxRecords)
    return steps.map { step in
      step(&backlog)
      return backlog.isBehind
    }
  }

  @Test func `the input is behind from many unread records until hardly any are left`() {
    let states = states([
      { $0.poll(isEmpty: false, unread: 999) }, { $0.poll(isEmpty: false, unread: 1_000) },
      { $0.apply(unread: 1_000) }, { $0.poll(isEmpty: false, unread: 500) }, { $0.apply(unread: 100) },
      { $0.poll(isEmpty: false, unread: 99) }, { $0.apply(unread: 99) },
      { $0.poll(isEmpty: false, unread: 500) },
    ])
    #expect(states == [false, true, true, true, true, true, false, false])
  }

  @Test func `the input is not behind when nothing comes, whatever is unread`() {
    let states = states([
      { $0.poll(isEmpty: false, unread: 5_000) }, { $0.poll(isEmpty: true, unread: 5_000) },
      { $0.poll(isEmpty: true, unread: 5_000) }, { $0.poll(isEmpty: false, unread: 5_000) },
    ])
    #expect(states == [true, false, false, true])
  }

  @Test func `with a bound of one record a single unread record is a backlog`() {
    let states = states(
      [{ $0.poll(isEmpty: false, unread: 1) }, { $0.apply(unread: 1) }, { $0.apply(unread: 0) }],
      maxRecords: 1
    )
    #expect(states == [true, true, false])
  }

  private static let partitions = [0, 1].map { TopicPartition(topic: "items", partition: $0) }

  @Test func `it is looked now and then, and at once after many records or while the input is behind`() {
    var watch = Backlog(maxRecords: 100)
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
    var watch = Backlog(maxRecords: 10)
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

  @Test func `memory is given back once, ten seconds after the input was behind for the last time`() {
    let polls: [(time: Int64, isBehind: Bool)] = [
      (0, false), (1_000, true), (9_000, false), (9_500, true), (19_499, false), (19_500, false),
      (40_000, false),
    ]
    var watch = Backlog(maxRecords: 10)
    let times = polls.filter { poll in
      watch.poll(isEmpty: !poll.isBehind, unread: 10)
      return watch.isMemoryReturnDue(at: poll.time)
    }.map(\.time)
    #expect(times == [19_500])
  }
}
