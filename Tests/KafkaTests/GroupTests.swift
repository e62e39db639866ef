import Kafka
import Testing

struct GroupTests {
  private let both = [
    TopicPartition(topic: "numbers", partition: 0),
    TopicPartition(topic: "numbers", partition: 1),
  ]

  /// One test for all that needs a group, as the first join of a group takes 3 s.
  @Test func `revocation is told before it happens, and what was paused starts anew`() throws {
    let fixture = try Fixture()
    defer { fixture.cluster.stop() }
    try fixture.fill("numbers", partitions: 2, recordsEach: 50)

    let one = try member(fixture)
    let first = Collector(one, capacity: 10)
    var told: [RebalanceEvent] = []
    var held: [Set<TopicPartition>] = []
    var committed: [TopicPartition: Int64?] = [:]
    var handedOut: [Int] = []
    one.onRebalance = { [unowned one, both] event in
      told.append(event)
      do {
        held.append(try Set(one.assignment()))
        if case .revoking = event, committed.isEmpty {
          committed = try one.committed(both, timeoutMilliseconds: 30_000)
          handedOut = both.map { first.values($0.partition).count }
          _ = try one.groupMetadata()
        }
      } catch {
        Issue.record(error)
      }
    }
    try one.subscribe(["numbers"])
    try first.poll(until: { first.values(0).count >= 10 }, "the only member reads")
    #expect(told == [.assigned(both)])
    #expect(held == [Set(both)])

    // Stand still somewhere in the middle, so that what is committed is what was handed out.
    try one.pause(both)
    let read = both.map { first.values($0.partition).count }
    try #require(read[0] < 50)
    try one.commit(zip(both, read).map { TopicPartitionOffset($0, offset: Int64($1)) })

    let two = try member(fixture)
    let second = Collector(two, capacity: 10)
    var toldTwo: [RebalanceEvent] = []
    two.onRebalance = { toldTwo.append($0) }
    try two.subscribe(["numbers"])
    first.events = []
    try first.poll(
      until: {
        do { try second.pollOnce(timeoutMilliseconds: 10) } catch { Issue.record(error) }
        return first.ends.count == 1 && second.ends.count == 1
      },
      "both members read their partition to its end"
    )

    try #require(told.count >= 3)
    #expect(told[1] == .revoking(both))
    #expect(held[1] == Set(both), "the partitions were held while their revocation was told")
    #expect(handedOut == read)
    #expect(committed == [both[0]: Int64(read[0]), both[1]: Int64(read[1])])
    guard case .assigned(let mine) = told.last, case .assigned(let theirs) = toldTwo.last else {
      Issue.record("assigned partitions are told: \(told), \(toldTwo)")
      return
    }
    #expect(mine.count == 1 && theirs.count == 1)
    #expect(Set(mine + theirs) == Set(both))

    // The pauses went with the partitions, and together the two have read everything once.
    #expect(one.pausedPartitions.isEmpty)
    for partition in both {
      let values = first.values(partition.partition) + second.values(partition.partition)
      #expect(values == (0..<50).map { String($0) }, "\(partition)")
    }

    try two.close(timeoutMilliseconds: 20_000)
    #expect(toldTwo.last == .revoking(theirs), "closing tells the revocation")
    try one.close(timeoutMilliseconds: 20_000)
  }

  @Test func `a consumer without a group says what is missing`() throws {
    let fixture = try Fixture()
    defer { fixture.cluster.stop() }
    let consumer = try fixture.consumer()
    let calls: [(Consumer) throws -> Void] = [
      { try $0.subscribe(["numbers"]) },
      { _ = try $0.groupMetadata() },
      { [both] in _ = try $0.committed(both, timeoutMilliseconds: 1_000) },
      { [both] in try $0.commit([.init(both[0], offset: 1)]) },
    ]
    for call in calls {
      let error = #expect(throws: KafkaError.self) { try call(consumer) }
      #expect(error?.code == "_UNKNOWN_GROUP")
      #expect(error?.message.contains("group.id") == true)
    }
    try consumer.close(timeoutMilliseconds: 10_000)
  }

  private func member(_ fixture: Fixture) throws -> Consumer {
    try fixture.consumer([
      "group.id": "group", "session.timeout.ms": "6000", "heartbeat.interval.ms": "200",
    ])
  }
}
