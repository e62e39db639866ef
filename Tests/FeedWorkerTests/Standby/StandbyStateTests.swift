import Changesets
import FeedKafka
import Kafka
import Testing

@testable import FeedWorker

/// What is followed, record by record.
struct StandbyStateTests {
  private struct Record: ConsumedRecord {
    let topicIndex = 0
    let partition: Int32
    let offset: Int64
    let timestampMilliseconds: Int64 = 0
    let key: UnsafeRawBufferPointer?
    let payload: UnsafeRawBufferPointer?
    var size: Int { (key?.count ?? 0) + (payload?.count ?? 0) }
    func header(_ name: StaticString) -> UnsafeRawBufferPointer? { nil }
  }

  /// A feed without sections, whose checksum is zero.
  private static func reload(_ feed: String, revision: Int) -> String {
    """
    {"feed":"\(feed)","epoch":"i/0","revision":\(revision),"base":\(revision - 1),"mode":"reload","reason":"requested",\
    "time":"1970-01-01T00:00:00.000Z","through":{"i":0},"checksum":"00000000","sections":[]}
    """
  }

  private func take(
    _ state: inout StandbyState,
    _ offset: Int64,
    key: String = "k0/f",
    _ value: String,
    partition: Int32 = 0
  ) -> StandbyState.Outcome {
    Array(key.utf8).withUnsafeBytes { key in
      Array(value.utf8).withUnsafeBytes { value in
        state.take(Record(partition: partition, offset: offset, key: key, payload: value))
      }
    }
  }

  private func followed(maxBytes: Int = 1 << 20) -> StandbyState {
    var state = StandbyState()
    state.begin(StandbyChoice(partitions: 1, maxBytes: maxBytes))
    let change = state.nextChange("c", at: 0)
    #expect(change.added == [0: 0])
    state.apply(change)
    return state
  }

  @Test func `what was followed is handed out with the offset up to which it was`() throws {
    var state = followed()
    guard case .taken = take(&state, 3, Self.reload("f", revision: 1)) else { return #expect(Bool(false)) }
    state.noteEnd(of: 0, at: 7, now: 10)
    #expect(state.choice?.state(of: 0) == .followed)
    var isNews = state.updateFigures { _ in 7 }
    #expect(isNews)
    isNews = state.updateFigures { _ in 7 }
    #expect(!isNews)
    let known = state.take(0)
    let taken = try #require(known)
    #expect(taken.changesets.position == 7)
    #expect(taken.isUsable(within: Watermarks(low: 0, high: 7), at: 20, lastIdle: 0))
    // It is a worker's now, and the client has to stop reading it.
    #expect(state.choice?.state(of: 0) == .owned)
    let left = state.nextChange("c", at: 20)
    #expect(left.removed == [0])
    _ = take(&state, 8, Self.reload("f", revision: 2))
    #expect(taken.changesets.position == 7)
  }

  @Test func `what lies outside of the partition, or is too old, is of no use`() throws {
    var state = followed()
    _ = take(&state, 3, Self.reload("f", revision: 1))
    state.noteEnd(of: 0, at: 7, now: 10)
    let known = state.take(0)
    let taken = try #require(known)
    let minute: Int64 = 60_000
    #expect(!taken.isUsable(within: Watermarks(low: 0, high: 6), at: 20, lastIdle: 0))
    #expect(!taken.isUsable(within: Watermarks(low: 8, high: 9), at: 20, lastIdle: 0))
    #expect(taken.isUsable(within: Watermarks(low: 7, high: 9), at: 20, lastIdle: 0))
    #expect(taken.isUsable(within: Watermarks(low: 0, high: 9), at: 30 * minute + 10, lastIdle: 0))
    #expect(!taken.isUsable(within: Watermarks(low: 0, high: 9), at: 30 * minute + 11, lastIdle: 0))
    // At its end, it is as new as the last answer that there is nothing more.
    #expect(taken.isUsable(within: Watermarks(low: 0, high: 9), at: 30 * minute + 11, lastIdle: minute))
  }

  @Test func `a partition that lags is as old as what it has read`() throws {
    var state = followed()
    state.noteEnd(of: 0, at: 1, now: 10)
    _ = take(&state, 3, Self.reload("f", revision: 1))
    let known = state.take(0)
    let taken = try #require(known)
    #expect(!taken.isUsable(within: Watermarks(low: 0, high: 9), at: 30 * 60_000 + 11, lastIdle: 60_000))
  }

  @Test func `records from before the reading began, or after it ended, are passed over`() throws {
    var state = StandbyState()
    state.begin(StandbyChoice(partitions: 1, maxBytes: 1 << 20))
    let change = state.nextChange("c", at: 0)
    _ = take(&state, 9, Self.reload("f", revision: 1))
    state.noteEnd(of: 0, at: 12, now: 0)
    #expect(state.partitions[0]?.changesets.position == 0)
    // A worker takes it before the client reads it, and gives it back further on: the client must begin there.
    _ = state.take(0)
    state.release(0, ReadPartition("c", 0, from: 5), at: 0)
    state.apply(change)
    #expect(state.partitions[0]?.isOpen == false)
    let next = state.nextChange("c", at: 0)
    #expect(next.removed == [0])
    #expect(next.added == [0: 5])
    state.apply(next)
    #expect(state.partitions[0]?.isOpen == true)
    #expect(state.closing == [])
  }

  @Test func `records that come once more are of another topic`() throws {
    var state = followed()
    _ = take(&state, 3, Self.reload("f", revision: 1))
    guard case .restarted(position: 4) = take(&state, 0, Self.reload("f", revision: 1)) else {
      Issue.record("the partition goes on")
      return
    }
    let change = state.nextChange("c", at: 0)
    #expect(change.removed == [0])
    #expect(change.added == [0: 0])
  }

  @Test func `a damaged partition is followed no more`() {
    var state = followed()
    guard case .damaged(let error) = take(&state, 3, key: "x", "{}") else {
      Issue.record("a record that is none is taken")
      return
    }
    #expect(error.message.contains("c [0], offset 3"))
    #expect(state.choice?.state(of: 0) == .damaged)
    let change = state.nextChange("c", at: .max)
    #expect(change.removed == [0])
    #expect(change.added == [:])
  }

  @Test func `what there is no room for is told once`() {
    var state = followed(maxBytes: 1)
    _ = take(&state, 3, Self.reload("f", revision: 1))
    var told = state.giveUpExcess(at: 0)
    #expect(told == [0])
    state.updateFigures { _ in nil }
    #expect(state.report.figures.tooLarge == [0])
    #expect(state.report.figures.bytes == 0)
    state.choice = StandbyChoice(partitions: 1, maxBytes: 1)
    state.apply(state.nextChange("c", at: 0))
    _ = take(&state, 3, Self.reload("f", revision: 1))
    told = state.giveUpExcess(at: 0)
    #expect(told == [])
    #expect(state.partitions.isEmpty)
  }

  @Test func `a partition that a worker has before others are followed is not followed`() {
    var state = StandbyState()
    let early = state.take(1)
    #expect(early?.isOpen == nil)
    state.begin(StandbyChoice(partitions: 2, maxBytes: 1 << 20))
    let change = state.nextChange("c", at: 0)
    #expect(change.added == [0: 0])
  }

  @Test func `the lag is what the brokers have told and was not read`() {
    var state = followed()
    _ = take(&state, 3, Self.reload("f", revision: 1))
    state.updateFigures { _ in 10 }
    #expect(state.report.figures.lag == 6)
    #expect(state.report.figures.reading == [0])
    #expect(state.report.figures.records == 1)
    // Another client knows nothing yet.
    state.closeAll()
    state.updateFigures { _ in 10 }
    #expect(state.report.figures.lag == 0)
    let change = state.nextChange("c", at: 0)
    #expect(change.added == [0: 4])
  }
}
