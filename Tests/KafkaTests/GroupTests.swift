import Kafka
import Testing

struct GroupTests {
  /// One test for all that needs a group, as each join of a new group takes 3 s.
  @Test func `revocation is told before it happens, and what was paused starts anew`() throws {
    let fixture = try Fixture()
    defer { fixture.cluster.stop() }
    try fixture.fill("numbers", partitions: 2, recordsEach: 50)
    let both = [
      TopicPartition(topic: "numbers", partition: 0), TopicPartition(topic: "numbers", partition: 1),
    ]

    let one = try fixture.consumer([
      "group.id": "group", "session.timeout.ms": "6000", "heartbeat.interval.ms": "200",
    ])
    let first = Collector(one, capacity: 10)
    var told: [RebalanceEvent] = []
    var held: [[TopicPartition]] = []
    var committed: [TopicPartition: Int64?] = [:]
    one.onRebalance = { [unowned one] event in
      told.append(event)
      held.append((try? one.assignment()) ?? [])
      if case .revoking(let partitions) = event, !partitions.isEmpty, committed.isEmpty {
        // The last chance to commit: every record handed out is accounted for.
        let offsets = partitions.map { partition in
          TopicPartitionOffset(partition, offset: Int64(first.values(partition.partition).count))
        }
        do {
          try one.commit(offsets)
          committed = try one.committed(partitions, timeoutMilliseconds: 30_000)
        } catch {
          Issue.record(error)
        }
      }
    }
    try one.subscribe(["numbers"])
    try first.poll(until: { first.values(0).count >= 10 }, "the only member reads")
    #expect(told == [.assigned(both)])
    #expect(try Set(one.assignment()) == Set(both))
    try one.pause([both[0]])
    let readBefore = [0, 1].map { first.values($0).count }
    try #require(readBefore[0] < 50)

    let two = try fixture.consumer([
      "group.id": "group", "session.timeout.ms": "6000", "heartbeat.interval.ms": "200",
    ])
    let second = Collector(two, capacity: 10)
    var toldTwo: [RebalanceEvent] = []
    two.onRebalance = { toldTwo.append($0) }
    try two.subscribe(["numbers"])
    try first.poll(
      until: {
        do { try second.pollOnce(timeoutMilliseconds: 10) } catch { Issue.record(error) }
        return told.count >= 3 && !toldTwo.isEmpty && first.ends.count + second.ends.count >= 2
      },
      "both members read to the end"
    )
    #expect(told[1] == .revoking(both))
    #expect(Set(held[1]) == Set(both), "the partitions were still held when the revocation was told")
    #expect(committed.count == 2)
    guard case .assigned(let mine) = told[2], case .assigned(let theirs) = toldTwo[0] else {
      Issue.record("assigned partitions are told: \(told), \(toldTwo)")
      return
    }
    #expect(mine.count == 1 && theirs.count == 1)
    #expect(Set(mine + theirs) == Set(both))
    #expect(one.pausedPartitions.isEmpty)

    // Together they have read everything once: what was paused is not, nothing is read twice or left out.
    let everything = (0..<50).map { String($0) }
    for partition in both {
      let start = try #require(committed[partition] ?? nil)
      let read = first.values(partition.partition) + second.values(partition.partition)
      #expect(read == everything, "partition \(partition), second owner from \(start)")
    }

    try two.close(timeoutMilliseconds: 20_000)
    #expect(toldTwo.last == .revoking(theirs))
    try one.close(timeoutMilliseconds: 20_000)
    #expect(told.last.map { if case .revoking = $0 { true } else { false } } == true)
  }
}
