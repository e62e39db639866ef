import Kafka
import Testing

@testable import SimulationSupport

@Suite struct SimulatedGroupTests {
  private let laboratory = Laboratory()
  private typealias L = Laboratory

  /// What a member holds.
  private final class Holdings {
    var held: Set<TopicPartition> = []
  }

  /// Polls a member and completes every rebalance, until a condition holds.
  private func poll(
    _ member: SimulatedConsumer,
    _ holdings: Holdings,
    seconds: Int64 = 60,
    until isDone: (PolledRecords) -> Bool = { $0.rebalance != nil }
  ) throws {
    let end = laboratory.simulator.now + seconds * 1_000_000
    while laboratory.simulator.now < end {
      let polled = try member.poll(most: 100, milliseconds: 100)
      if let rebalance = polled.rebalance {
        if rebalance.kind == .assigned {
          holdings.held.formUnion(rebalance.partitions)
        } else {
          holdings.held.subtract(rebalance.partitions)
        }
        try member.complete(rebalance)
      }
      if isDone(polled) { return }
    }
  }

  /// Runs something with the only member of the group, which holds its partitions.
  private func withMember(
    _ body: @escaping (SimulatedProcess, SimulatedConsumer, Holdings) throws -> Void
  ) {
    laboratory.run { [self] process in
      let (member, held) = (laboratory.member(process), Holdings())
      try member.subscribe(["in"])
      try poll(member, held)
      try body(process, member, held)
    }
  }

  @Test func `the first member gets everything, and the second its share once the first has given it up`() {
    let first = Holdings()
    let second = Holdings()
    laboratory.run { [self] process in
      let member = laboratory.member(process)
      try member.subscribe(["in"], companions: ["out"])
      try poll(member, first)
      #expect(first.held.count == 4)
      laboratory.simulator.spawn(process) { [self] in
        let other = laboratory.member(process)
        try? other.subscribe(["in"], companions: ["out"])
        try? poll(other, second, seconds: 40) { _ in false }
      }
      try poll(member, first, seconds: 30) { _ in false }
      #expect(first.held.count == 2 && second.held.count == 2 && first.held.isDisjoint(with: second.held))
      #expect(laboratory.cluster.group().generation >= 3)
    }
  }

  @Test func `a partition that moves to a member that joins is nobody's for less than half a second`() {
    let first = Holdings()
    let second = Holdings()
    laboratory.run { [self] process in
      let member = laboratory.member(process)
      try member.subscribe(["in"])
      try poll(member, first)
      var taken: Int64?
      laboratory.simulator.spawn(process) { [self] in
        let other = laboratory.member(process)
        try? other.subscribe(["in"])
        try? poll(other, second, seconds: 40) { _ in !second.held.isEmpty }
        taken = laboratory.simulator.now
        try? poll(other, second, seconds: 40) { _ in false }
      }
      try poll(member, first) { _ in first.held.count == 1 }
      let given = laboratory.simulator.now
      try poll(member, first, seconds: 20) { _ in false }
      let time = try #require(taken)
      #expect(first.held.count == 1 && second.held.count == 1)
      #expect(time - given < 500_000, "\(time - given) µs")
    }
  }

  @Test func `a member that dies is missed after its session, and the other gets what it had`() {
    let first = Holdings()
    let second = Holdings()
    let victim = laboratory.process("victim")
    laboratory.run { [self] process in
      laboratory.simulator.spawn(victim) { [self] in
        let other = laboratory.member(victim)
        try? other.subscribe(["in"])
        try? poll(other, second, seconds: 600) { _ in false }
      }
      let member = laboratory.member(process)
      try member.subscribe(["in"])
      try poll(member, first, seconds: 20) { _ in false }
      #expect(first.held.count == 1 && second.held.count == 1)
      victim.kill()
      try poll(member, first, seconds: 9) { _ in false }
      #expect(first.held.count == 1)
      try poll(member, first, seconds: 20) { _ in false }
      #expect(first.held.count == 2)
    }
  }

  @Test func `a static member that is replaced keeps its partitions, and the one before is fenced`() {
    let first = Holdings()
    let second = Holdings()
    laboratory.run { [self] process in
      let member = laboratory.member(process, instanceID: "one")
      try member.subscribe(["in"])
      try poll(member, first)
      try poll(member, first, seconds: 5) { _ in false }
      let generation = laboratory.cluster.group().generation
      let other = laboratory.member(process, instanceID: "one")
      try other.subscribe(["in"])
      try poll(other, second)
      #expect(second.held.count == 2)
      #expect(laboratory.cluster.group().generation == generation)
      var fatal = false
      try poll(member, first, seconds: 10) { polled in
        for case .error(let error) in polled.events where error.isFatal { fatal = true }
        return fatal
      }
      #expect(fatal)
    }
  }

  /// Its first process gives up a partition, and is killed before it joins again.
  @Test
  func `a static member that returns in the middle of a rebalance leaves no partition without an owner`() {
    let first = Holdings()
    let second = Holdings()
    let victim = laboratory.process("victim")
    laboratory.run { [self] process in
      let member = laboratory.member(victim, instanceID: "one")
      laboratory.simulator.spawn(victim) { [self] in
        try? member.subscribe(["in"])
        try? poll(member, first, seconds: 600) { _ in false }
      }
      laboratory.simulator.sleep(10_000_000)
      #expect(first.held.count == 2)
      victim.kill()
      laboratory.cluster.group().members[0].assignment.removeLast()
      let other = laboratory.member(process, instanceID: "one")
      try other.subscribe(["in"])
      try poll(other, second)
      #expect(second.held.count == 1)
      try poll(other, second, seconds: 5) { _ in false }
      #expect(second.held.count == 2)
    }
  }

  @Test func `a commit of an old generation is refused, and needs an abort`() {
    withMember { [self] process, member, _ in
      let membership = try member.groupMembership()
      let producer = laboratory.producer(process)
      try producer.initTransactions(timeoutMilliseconds: 1_000)
      try producer.begin()
      let old = SimulatedMembership(memberID: membership.memberID, generation: membership.generation - 1)
      let refused = failure {
        try producer.sendOffsets([L.input: CommittedOffset(3)], old, timeoutMilliseconds: 1_000)
      }
      #expect(refused?.kind == .illegalGeneration && refused?.requiresAbort == true)
      try producer.abort(timeoutMilliseconds: 1_000)
      #expect(laboratory.cluster.group().offsets.isEmpty)
    }
  }

  @Test func `offsets are there when their transaction is committed, and not told before`() {
    withMember { [self] process, member, _ in
      let producer = laboratory.producer(process)
      try producer.initTransactions(timeoutMilliseconds: 1_000)
      try producer.begin()
      try producer.sendOffsets(
        [L.input: CommittedOffset(3, metadata: "m")],
        try member.groupMembership(),
        timeoutMilliseconds: 1_000
      )
      #expect(failure { _ = try member.committed([L.input], timeoutMilliseconds: 500) }?.isRetriable == true)
      try producer.commit(timeoutMilliseconds: 1_000)
      let value1 = try member.committed([L.input], timeoutMilliseconds: 1_000)
      #expect(value1 == [L.input: CommittedOffset(3, metadata: "m")])
    }
  }

  @Test func `a member that is put out loses everything, and is somebody else afterwards`() {
    withMember { [self] _, member, held in
      let id = try member.groupMembership().memberID
      laboratory.cluster.group().expire(id)
      try poll(member, held) { $0.rebalance?.kind == .lost }
      #expect(held.held.isEmpty)
      try poll(member, held)
      #expect(held.held.count == 2)
      let value2 = try member.groupMembership().memberID
      #expect(value2 != id)
    }
  }

  @Test func `the group goes on when its coordinator moves or dies`() {
    withMember { [self] _, member, held in
      let generation = laboratory.cluster.group().generation
      laboratory.cluster.group().moveAway()
      try poll(member, held, seconds: 30) { _ in false }
      for broker in 0..<2 { laboratory.cluster.stop(broker: broker) }
      try poll(member, held, seconds: 30) { _ in false }
      #expect(held.held.count == 2)
      #expect(laboratory.cluster.group().generation == generation)
    }
  }
}
