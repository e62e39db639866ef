import Kafka
import Testing

@testable import FeedConfiguration
@testable import FeedKafka
@testable import FeedTransactions

struct InputStartTests {
  private static let partition = TopicPartition(topic: "feeds.items", partition: 3)

  private func found(
    _ committed: Int64?,
    _ low: Int64,
    _ high: Int64,
    _ policy: LostInputPolicy
  )
    throws(DaemonError) -> InputStart
  {
    try InputStart(Self.partition, committed: committed, Watermarks(low: low, high: high), policy)
  }

  @Test(arguments: [10, 15, 20]) func `what is committed is where the reading begins`(offset: Int64) throws {
    let start = try found(offset, 10, 20, .fail)
    #expect(start.position == TopicPartitionOffset(Self.partition, offset: offset))
    #expect(start.finding == .committed)
  }

  @Test(arguments: LostInputPolicy.allCases) func `without a committed offset it is the earliest record`(
    policy: LostInputPolicy
  ) throws {
    let start = try found(nil, 10, 20, policy)
    #expect(start.position.offset == 10)
    #expect(start.finding == .noneCommitted)
  }

  @Test func `records that are gone are named exactly`() throws {
    let error = #expect(throws: DaemonError.self) { try found(7, 10, 20, .fail) }
    #expect(error?.code == .lostInput)
    #expect(error?.isRetriable == false)
    #expect(error?.message.contains("feeds.items [3], offsets 7 to 9 (3 in all)") == true)
    #expect(error?.message.contains("committed 7, and the topic begins at 10") == true)
    #expect(error?.message.contains("kafka.onLostInput") == true)

    let start = try found(7, 10, 20, .continue)
    #expect(start.position.offset == 10)
    guard case .lost(let loss) = start.finding else {
      Issue.record("a loss is told: \(start)")
      return
    }
    #expect(loss.contains("offsets 7 to 9 (3 in all)"))
    #expect(try found(9, 10, 20, .continue).finding != .committed)
  }

  @Test func `a topic that ends before what is committed was truncated or recreated`() throws {
    let error = #expect(throws: DaemonError.self) { try found(25, 0, 20, .fail) }
    #expect(error?.message.contains("ends at 20, but the group has committed 25, 5 beyond") == true)
    #expect(error?.message.contains("topics.changesets") == true)
    #expect(error?.message.contains("onLostInput") == true)
    let start = try found(25, 0, 20, .continue)
    #expect(start.position.offset == 0)
    #expect(start.isLoss && start.isRestarted)
    #expect(try !found(7, 10, 20, .continue).isRestarted, "what is left are the same records")
  }

  @Test(arguments: [nil, 2] as [Int64?])
  func `a topic that ends before what feeds have taken was truncated or recreated`(committed: Int64?) throws {
    var start = try found(committed, 0, 3, .continue)
    let ends = Watermarks(low: 0, high: 3)
    let before = start
    let error = #expect(throws: DaemonError.self) { try start.restart(taken: 41, ends, .fail) }
    #expect(error?.code == .lostInput)
    for text in [
      "feeds.items [3] ends at 3", "up to offset 41 (`through`)", "kafka.onLostInput", "kafka.group.id",
    ] {
      #expect(error?.message.contains(text) == true, "\(text)")
    }
    start = before
    try start.restart(taken: 41, ends, .continue)
    #expect(start.isRestarted && start.isLoss)
    #expect(start.position == before.position, "records of the new topic may be committed already")
  }
}
