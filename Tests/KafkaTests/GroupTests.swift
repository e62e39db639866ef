import KafkaTestSupport
import Testing

@testable import Kafka

struct GroupTests {
  private let fixture: Fixture

  init() throws { fixture = try Fixture() }

  private let both = [
    TopicPartition(topic: "numbers", partition: 0),
    TopicPartition(topic: "numbers", partition: 1),
  ]

  /// A single test for everything with two members, because the first join of a group takes 3 s.
  @Test func `revoked partitions move when their owner is ready, and the others are read on`() throws {
    let total = 3_000
    try fixture.fill("numbers", partitions: 2, recordsEach: total)

    let one = try Member(fixture)
    try one.consumer.subscribe("numbers")
    try one.poll(until: { one.collector.records.count >= 20 }, "the only member reads")
    #expect(one.told.map(\.kind) == [.assigned])
    #expect(one.consumer.held == Set(both))

    one.completes = false
    let two = try Member(fixture)
    try two.consumer.subscribe("numbers")
    try one.poll(
      until: {
        two.pollOnce()
        return one.told.count == 2
      },
      "the first member is to give something up"
    )
    let revoking = try #require(one.consumer.pendingRebalance)
    #expect(revoking.kind == .revoking && revoking.partitions.count == 1)
    #expect(one.told.last == revoking)

    // Until then the group waits, nothing is read, and the member stays in the group.
    let stays = try #require(both.first { !revoking.partitions.contains($0) })
    let goes = revoking.partitions[0]
    let read = one.collector.records.count
    _ = try one.consumer.groupMetadata()
    for _ in 0..<100 {
      two.pollOnce()
      try one.collector.pollOnce()
    }
    #expect(one.collector.records.count == read)
    #expect(two.collector.records.isEmpty && two.consumer.held.isEmpty)
    #expect(one.told.count == 2)
    let count = Int64(one.collector.values(goes.partition).count)

    one.completes = true
    try one.complete(revoking)
    #expect(one.consumer.held == [stays])
    try one.poll(
      until: {
        two.pollOnce()
        return two.consumer.held == [goes] && one.collector.values(stays.partition).count == total
          && two.collector.values(goes.partition).last == String(total - 1)
      },
      "both read their partition to its end"
    )
    // No record is missing or repeated.
    let numbers = (0..<total).map { Optional(String($0)) }
    #expect(one.collector.values(stays.partition) == numbers)
    #expect(one.collector.values(goes.partition) == Array(numbers.prefix(Int(count))))
    #expect(two.collector.values(goes.partition) == numbers, "nothing was committed")

    // When one member leaves, the other one gets its partitions and keeps its own.
    try one.consumer.close(timeoutMilliseconds: 120_000)
    try two.poll(until: { two.consumer.held == Set(both) }, "the member that is left has all")
    #expect(two.told.allSatisfy { $0.kind == .assigned })
    try two.consumer.close(timeoutMilliseconds: 120_000)
  }

  @Test func `partitions of companion topics follow`() throws {
    try fixture.fill("numbers", partitions: 2, recordsEach: 3)
    try fixture.fill("letters", partitions: 2, recordsEach: 3)
    let member = try Member(fixture)
    try member.consumer.subscribe("numbers", companions: ["letters"])
    try member.poll(until: { member.collector.records.count == 12 }, "all is read")
    #expect(Set(member.told[0].partitions.map(\.topic)) == ["numbers", "letters"])
    #expect(member.consumer.held.count == 4)
    #expect(try Set(member.consumer.assignment()) == member.consumer.held)
    try member.consumer.unsubscribe()
    try member.poll(until: { member.told.count == 2 }, "what it holds is revoked")
    #expect(member.told[1].kind == .revoking && member.told[1].partitions.count == 4)
    #expect(member.consumer.held.isEmpty)
    #expect(try member.consumer.assignment().isEmpty)
    try member.consumer.close(timeoutMilliseconds: 120_000)
  }

  @Test func `a member that was removed learns it before anything is committed, and loses all partitions`()
    throws
  {
    try fixture.fill("numbers", partitions: 2, recordsEach: 1)
    let member = try Member(fixture)
    try member.consumer.subscribe("numbers")
    try member.poll(until: { !member.told.isEmpty }, "the member gets its partitions")
    let membership = try #require(try member.consumer.groupMetadata().membership)
    #expect(membership.generation > 0 && !membership.memberID.isEmpty)
    try fixture.cluster.pushRequestErrors(.heartbeat, [.unknownMember])
    // Not polled, as an owner that is busy does.
    var refusal: KafkaError?
    while refusal == nil {
      do throws(KafkaError) { _ = try member.consumer.groupMetadata() } catch { refusal = error }
    }
    #expect(refusal?.kind == .unknownMember)
    try member.poll(until: { member.told.count >= 2 }, "the partitions are lost")
    #expect(member.told[1].kind == .lost && Set(member.told[1].partitions) == Set(both))
    try member.poll(until: { member.consumer.held == Set(both) }, "the member is taken in again")
    _ = try member.consumer.groupMetadata()
    try member.consumer.close(timeoutMilliseconds: 120_000)
  }

  /// librdkafka 2.0.2 must neither wait for a call that never comes nor abort the process.
  @Test func `a member can leave at any moment`() throws {
    try fixture.fill("numbers", partitions: 2, recordsEach: 1)
    // While it joins, which takes seconds here.
    let joining = try Member(fixture)
    try joining.consumer.subscribe("numbers")
    for _ in 0..<10 { try joining.collector.pollOnce() }
    try joining.consumer.close(timeoutMilliseconds: 120_000)
    // With an assignment, then with a revocation that is not completed.
    let one = try Member(fixture)
    one.completes = false
    try one.consumer.subscribe("numbers")
    try one.poll(until: { one.told.count == 1 }, "it is told of its partitions")
    try one.consumer.close(timeoutMilliseconds: 120_000)
    let two = try Member(fixture)
    try two.consumer.subscribe("numbers")
    try two.poll(until: { two.told.count == 1 }, "it has partitions")
    two.completes = false
    try two.consumer.unsubscribe()
    try two.poll(until: { two.told.count == 2 }, "it is to give them up")
    #expect(two.told[1].kind == .revoking)
    try two.consumer.close(timeoutMilliseconds: 120_000)
    // With a rebalance that was not polled.
    let three = try Member(fixture)
    try three.consumer.subscribe("numbers")
    try three.poll(until: { three.told.count == 1 }, "it has partitions")
    try three.consumer.unsubscribe()
    try three.consumer.close(timeoutMilliseconds: 120_000)
  }

  @Test func `a consumer without a group reports what is missing`() throws {
    let consumer = try fixture.consumer()
    let calls: [(Consumer) throws -> Void] = [
      { try $0.subscribe("numbers") },
      { try $0.unsubscribe() },
      { _ = try $0.groupMetadata() },
      { [both] in _ = try $0.committed(both, timeoutMilliseconds: 1_000) },
      { [both] in try $0.commit([both[0]: CommittedOffset(1)]) },
    ]
    for call in calls {
      let error = #expect(throws: KafkaError.self) { try call(consumer) }
      #expect(error?.code == "_UNKNOWN_GROUP")
      #expect(error?.message.contains("group.id") == true)
    }
  }

  /// A member of a group, with the rebalances that it received.
  private final class Member {
    let consumer: Consumer
    let collector: Collector
    var told: [Rebalance] = []
    /// Whether it completes rebalances at once.
    var completes = true

    init(_ fixture: Fixture) throws {
      consumer = try fixture.consumer([
        "group.id": "group", "session.timeout.ms": "6000", "heartbeat.interval.ms": "200",
      ])
      collector = Collector(consumer, maxMessages: 10)
    }

    func pollOnce() {
      #expect(throws: Never.self) {
        try collector.pollOnce(timeoutMilliseconds: 10)
        try take()
      }
    }

    func poll(until condition: () -> Bool, _ comment: Comment) throws {
      try collector.poll(
        until: {
          #expect(throws: Never.self) { try take() }
          return condition()
        },
        comment
      )
    }

    private func take() throws {
      guard let rebalance = collector.takeRebalance() else { return }
      told.append(rebalance)
      if completes { try complete(rebalance) }
    }

    /// Completes a rebalance, and continues reading where it was, as an owner must.
    func complete(_ rebalance: Rebalance) throws {
      try consumer.complete(rebalance)
      let next = consumer.held.subtracting(rebalance.partitions).map { partition in
        let read = collector.records.last {
          $0.topic == partition.topic && $0.partition == partition.partition
        }
        return TopicPartitionOffset(partition, offset: (read?.offset ?? -1) + 1)
      }
      try consumer.seek(next, timeoutMilliseconds: 120_000)
    }
  }
}
