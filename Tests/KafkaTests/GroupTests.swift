import Kafka
import Testing

struct GroupTests {
  private let both = [
    TopicPartition(topic: "numbers", partition: 0),
    TopicPartition(topic: "numbers", partition: 1),
  ]

  /// One test for all that needs a group, as the first join of a group takes 3 s.
  @Test func `partitions move from one member to another without a record of the old owner's left`() throws {
    let fixture = try Fixture()
    defer { fixture.cluster.stop() }
    let total = 3_000
    try fixture.fill("numbers", partitions: 2, recordsEach: total)

    let one = try member(fixture)
    let first = Collector(one, maxMessages: 10)
    var told: [RebalanceEvent] = []
    var held: [Set<TopicPartition>] = []
    var committed: [TopicPartition: CommittedOffset] = [:]
    var recordsBefore: Int?
    one.onRebalance = { [unowned one, both] event in
      told.append(event)
      do {
        held.append(try Set(one.assignment()))
        if case .revoking = event, recordsBefore == nil {
          recordsBefore = first.records.count
          committed = try one.committed(both, timeoutMilliseconds: 120_000)
          _ = try one.groupMetadata()
        }
      } catch {
        Issue.record(error)
      }
    }
    try one.subscribe(["numbers"])
    try first.poll(until: { first.records.count >= 20 }, "the only member reads")
    #expect(told == [.assigned(both)])
    #expect(held == [Set(both)])

    // Committed now, as the embedded cluster refuses commits during a rebalance.
    let counts = both.map { Int64(first.values($0.partition).count) }
    let offsets = zip(both, counts).map { ($0, CommittedOffset($1, metadata: "\($0.partition)'s")) }
    try one.commit(Dictionary(uniqueKeysWithValues: offsets))
    // One of the two is paused when it goes, the other in full flow.
    try one.pause([both[0]])

    let two = try member(fixture)
    let second = Collector(two, maxMessages: 10)
    var toldTwo: [RebalanceEvent] = []
    two.onRebalance = { [unowned two] event in
      toldTwo.append(event)
      // As when state is restored first: paused before the first record.
      if case .assigned(let partitions) = event {
        do { try two.pause(partitions) } catch { Issue.record(error) }
      }
    }
    try two.subscribe(["numbers"])
    try first.poll(
      until: {
        do { try second.pollOnce(timeoutMilliseconds: 10) } catch { Issue.record(error) }
        // On a machine so busy that the group forms once more, what is told last may be a revocation.
        guard told.count >= 3, case .assigned(let mine) = told.last, case .assigned(let theirs) = toldTwo.last
        else { return false }
        return mine.count == 1 && theirs.count == 1
      },
      "both members have a partition"
    )
    guard case .assigned(let mine) = told.last, case .assigned(let theirs) = toldTwo.last else {
      Issue.record("assigned partitions are told last: \(told), \(toldTwo)")
      return
    }
    #expect(told[1] == .revoking(both))
    #expect(held[1] == Set(both), "the partitions were held while their revocation was told")
    #expect(committed == Dictionary(uniqueKeysWithValues: offsets))
    #expect(mine.count == 1 && theirs.count == 1)
    #expect(Set(mine + theirs) == Set(both))
    #expect(one.pausedPartitions.isEmpty, "pauses go with the partitions")
    #expect(two.pausedPartitions == Set(theirs))
    #expect(second.records.isEmpty, "what is paused on assignment brings nothing")

    try two.resume(theirs)
    first.maxMessages = 1_000
    second.maxMessages = 1_000
    let mark = try #require(recordsBefore)
    let rebalances = (told.count, toldTwo.count)
    try first.poll(
      until: {
        do { try second.pollOnce(timeoutMilliseconds: 10) } catch { Issue.record(error) }
        let after = first.records.dropFirst(mark) + second.records
        return both.allSatisfy { partition in
          after.last { $0.partition == partition.partition }?.offset == Int64(total) - 1
        }
      },
      "both members read their partition to its end"
    )

    // After the revocation was told, each partition goes on exactly where the commit was: nothing that was
    // fetched before comes out late, and nothing is left out.
    let after = first.records.dropFirst(mark) + second.records
    for (partition, count) in zip(both, counts) {
      let offsets = after.filter { $0.partition == partition.partition }.map(\.offset)
      #expect(offsets.first == count && Set(offsets) == Set(count..<Int64(total)), "\(partition)")
      // On a machine so busy that the partitions moved once more, they are read again from the commit.
      if rebalances == (told.count, toldTwo.count), rebalances.0 == 3 {
        #expect(offsets == Array(count..<Int64(total)), "\(partition)")
      }
    }

    // The newest, should the group have formed once more.
    let (newest, newestOfTwo) = (told.compactMap(Self.assigned).last, toldTwo.compactMap(Self.assigned).last)
    try two.close(timeoutMilliseconds: 120_000)
    #expect(toldTwo.last.flatMap(Self.revoked) == newestOfTwo, "closing tells the revocation")
    // This one has a rebalance waiting that it has not polled for.
    try one.close(timeoutMilliseconds: 120_000)
    #expect(told.last.flatMap(Self.revoked) == newest)
  }

  private static func assigned(_ event: RebalanceEvent) -> [TopicPartition]? {
    if case .assigned(let partitions) = event { partitions } else { nil }
  }

  private static func revoked(_ event: RebalanceEvent) -> [TopicPartition]? {
    if case .revoking(let partitions) = event { partitions } else { nil }
  }

  @Test func `partitions that were lost are told as lost`() throws {
    let fixture = try Fixture()
    defer { fixture.cluster.stop() }
    try fixture.fill("numbers", partitions: 2, recordsEach: 1)
    let consumer = try member(fixture)
    let collector = Collector(consumer)
    var told: [RebalanceEvent] = []
    consumer.onRebalance = { told.append($0) }
    try consumer.subscribe(["numbers"])
    try collector.poll(until: { told.count == 1 }, "the member gets its partitions")
    try fixture.cluster.pushRequestErrors(.heartbeat, [.unknownMember])
    try collector.poll(until: { told.count >= 2 }, "the group does not know the member any more")
    #expect(Array(told.prefix(2)) == [.assigned(both), .lost(both)])
    try consumer.close(timeoutMilliseconds: 120_000)
  }

  @Test func `a consumer without a group says what is missing`() throws {
    let fixture = try Fixture()
    defer { fixture.cluster.stop() }
    let consumer = try fixture.consumer()
    let calls: [(Consumer) throws -> Void] = [
      { try $0.subscribe(["numbers"]) },
      { _ = try $0.groupMetadata() },
      { [both] in _ = try $0.committed(both, timeoutMilliseconds: 1_000) },
      { [both] in try $0.commit([both[0]: CommittedOffset(1)]) },
    ]
    for call in calls {
      let error = #expect(throws: KafkaError.self) { try call(consumer) }
      #expect(error?.code == "_UNKNOWN_GROUP")
      #expect(error?.message.contains("group.id") == true)
    }
    try consumer.close(timeoutMilliseconds: 120_000)
  }

  private func member(_ fixture: Fixture) throws -> Consumer {
    try fixture.consumer([
      "group.id": "group", "session.timeout.ms": "6000", "heartbeat.interval.ms": "200",
    ])
  }
}
