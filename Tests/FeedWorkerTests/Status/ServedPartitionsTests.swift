import Testing

@testable import FeedStatus

struct ServedPartitionsTests {
  @Test func `partitions are served when their feeds are restored`() {
    var partitions = ServedPartitions()
    #expect(!partitions.isSettled)
    partitions.assign([0, 1], to: 0)
    #expect(partitions.served.isEmpty)
    #expect(!partitions.isSettled)
    partitions.run(0)
    #expect(partitions.served == [0, 1])
    #expect(partitions.isSettled)
  }

  @Test func `in a rebalance what stays is served without a break`() {
    var partitions = ServedPartitions()
    partitions.assign([0, 1, 2, 3], to: 0)
    partitions.run(0)
    partitions.assign([0, 1], to: 0)
    #expect(partitions.served == [0, 1])
    #expect(partitions.isSettled)
  }

  @Test func `feeds are served as they are restored, partition by partition`() {
    var partitions = ServedPartitions()
    partitions.assign([0, 1], to: 0)
    partitions.restore([1], by: 0)
    #expect(partitions.served == [1])
    #expect(!partitions.isSettled)
    partitions.restore([0], by: 0)
    #expect(partitions.served == [0, 1])
    #expect(partitions.isSettled)
    // Another comes; the others are not touched.
    partitions.assign([0, 1, 2], to: 0)
    #expect(partitions.served == [0, 1])
    partitions.restore([2], by: 0)
    #expect(partitions.served == [0, 1, 2])
  }

  @Test func `what a worker gives up is served until all have heard who has it`() {
    var partitions = ServedPartitions()
    partitions.assign([0, 1], to: 0)
    partitions.run(0)
    partitions.assign([], to: 1)
    partitions.release([1], by: 0)
    // The rest of the rebalance that has taken it away.
    partitions.assign([0], to: 0)
    #expect(partitions.served == [0, 1])
    // In the next, it comes to another worker here, or to another process.
    var elsewhere = partitions
    partitions.assign([1], to: 1)
    partitions.assign([0], to: 0)
    #expect(partitions.served == [0, 1])
    partitions.restore([1], by: 1)
    #expect(partitions.served == [0, 1])
    #expect(partitions.isSettled)
    elsewhere.assign([0], to: 0)
    #expect(elsewhere.served == [0, 1])
    elsewhere.assign([], to: 1)
    #expect(elsewhere.served == [0])
  }

  @Test func `partitions that cannot be restored are not served, and are not taken for settled`() {
    var partitions = ServedPartitions()
    partitions.assign([0, 1], to: 0)
    partitions.run(0, except: [1])
    #expect(partitions.served == [0])
    #expect(!partitions.isSettled)

    // The next time it is another one.
    partitions.assign([0, 1], to: 0)
    partitions.run(0, except: [0])
    #expect(partitions.served == [1])
    partitions.assign([0, 1], to: 0)
    partitions.run(0)
    #expect(partitions.served == [0, 1])
    #expect(partitions.isSettled)
  }

  @Test func `a worker without partitions has nothing to restore`() {
    var partitions = ServedPartitions()
    partitions.assign([], to: 0)
    #expect(partitions.isSettled)
    #expect(partitions.served.isEmpty)
  }
}
