import Kafka
import SimulationSupport
import Testing

@Suite struct SimulatedTransactionTests {
  private let laboratory = Laboratory()
  private typealias L = Laboratory

  private func registered(_ process: SimulatedProcess, timeout: Int64 = 10_000) throws -> SimulatedProducer {
    let producer = laboratory.producer(process, timeout: timeout)
    try producer.initTransactions(timeoutMilliseconds: 5_000)
    return producer
  }

  /// Begins a transaction with one record.
  private func begin(_ producer: SimulatedProducer, _ text: String) throws {
    try producer.begin()
    try producer.produce(L.record(text), to: L.out)
  }

  private func withProducer(_ body: @escaping (SimulatedProducer) throws -> Void) {
    laboratory.run { [self] in try body(registered($0)) }
  }

  @Test func `committed records are read once their marker is written`() {
    withProducer { [self] producer in
      try producer.begin()
      for number in 0..<50 { try producer.produce(L.record("\(number)"), to: L.out) }
      try producer.flush(timeoutMilliseconds: 1_000)
      #expect(laboratory.contents(of: L.out) == [])
      #expect(laboratory.contents(of: L.out, .readUncommitted).count == 50)
      try producer.commit(timeoutMilliseconds: 1_000)
      laboratory.simulator.sleep(1_000_000)
      #expect(laboratory.contents(of: L.out) == (0..<50).map { "\($0)" })
      #expect(laboratory.cluster.log(L.out)?.high == 51)
    }
  }

  @Test func `an aborted record is not read, and takes up an offset`() {
    withProducer { [self] producer in
      try begin(producer, "a")
      try producer.flush(timeoutMilliseconds: 1_000)
      try producer.abort(timeoutMilliseconds: 1_000)
      laboratory.simulator.sleep(1_000_000)
      #expect(laboratory.contents(of: L.out) == [])
      #expect(laboratory.cluster.log(L.out)?.lastStableOffset == 2)
    }
  }

  @Test func `the last stable offset waits for the oldest transaction that is open`() {
    laboratory.run { [self] process in
      let slow = laboratory.producer(process, "slow")
      let fast = laboratory.producer(process, "fast")
      try slow.initTransactions(timeoutMilliseconds: 1_000)
      try fast.initTransactions(timeoutMilliseconds: 1_000)
      try begin(slow, "slow")
      try slow.flush(timeoutMilliseconds: 1_000)
      try begin(fast, "fast")
      try fast.commit(timeoutMilliseconds: 1_000)
      laboratory.simulator.sleep(1_000_000)
      #expect(laboratory.contents(of: L.out) == [])
      try slow.commit(timeoutMilliseconds: 1_000)
      laboratory.simulator.sleep(1_000_000)
      #expect(laboratory.contents(of: L.out) == ["slow", "fast"])
    }
  }

  @Test func `a producer is fenced by another of its id, and what it left open is aborted`() {
    laboratory.run { [self] process in
      let zombie = try registered(process)
      try begin(zombie, "zombie")
      try zombie.flush(timeoutMilliseconds: 1_000)
      let heir = try registered(process)
      #expect(failure { try zombie.commit(timeoutMilliseconds: 1_000) }?.isFatal == true)
      try begin(heir, "heir")
      try heir.commit(timeoutMilliseconds: 1_000)
      laboratory.simulator.sleep(1_000_000)
      #expect(laboratory.contents(of: L.out) == ["heir"])
    }
  }

  @Test func `a transaction that takes too long is aborted by its coordinator`() {
    laboratory.run { [self] process in
      let producer = try registered(process, timeout: 2_000)
      try begin(producer, "late")
      try producer.flush(timeoutMilliseconds: 1_000)
      laboratory.simulator.sleep(3_000_000)
      #expect(laboratory.cluster.log(L.out)?.lastStableOffset == 2)
      #expect(failure { try producer.commit(timeoutMilliseconds: 1_000) }?.isFatal == true)
      #expect(laboratory.contents(of: L.out) == [])
    }
  }

  @Test func `a commit whose answer is lost is asked for again and has happened once`() {
    withProducer { [self] producer in
      laboratory.network.arm(.produce, .answerLost)
      laboratory.network.arm(.endTransaction, .answerLost)
      try begin(producer, "once")
      try producer.commit(timeoutMilliseconds: 5_000)
      laboratory.simulator.sleep(1_000_000)
      #expect(laboratory.contents(of: L.out) == ["once"])
      #expect(laboratory.network.faultCount == 2)
    }
  }

  @Test func `a commit that is not answered in time is not known, and goes on`() {
    withProducer { [self] producer in
      laboratory.network.arm(.endTransaction, .slowAnswer(3_000))
      try begin(producer, "slow")
      let error = failure { try producer.commit(timeoutMilliseconds: 1_000) }
      #expect(error?.kind == .timedOut && error?.isRetriable == true)
      laboratory.simulator.sleep(1_000_000)
      #expect(laboratory.contents(of: L.out) == ["slow"])
      try producer.commit(timeoutMilliseconds: 5_000)
    }
  }

  @Test func `what is late of an aborted transaction finds it over`() {
    withProducer { [self] producer in
      laboratory.network.arm(.produce, .late(2_000))
      try begin(producer, "late")
      laboratory.simulator.sleep(100_000)
      try producer.abort(timeoutMilliseconds: 1_000)
      laboratory.simulator.sleep(5_000_000)
      #expect(laboratory.contents(of: L.out, .readUncommitted) == [])
      #expect(laboratory.cluster.log(L.out)?.lastStableOffset == 1)
    }
  }

  @Test func `a full queue takes no record until some are delivered`() {
    laboratory.run { [self] process in
      let producer = laboratory.producer(process, capacity: 4)
      try producer.initTransactions(timeoutMilliseconds: 1_000)
      try producer.begin()
      for number in 0..<4 { try producer.produce(L.record("\(number)"), to: L.out) }
      #expect(failure { try producer.produce(L.record("4"), to: L.out) }?.kind == .queueFull)
      _ = try producer.poll(timeoutMilliseconds: 100)
      try producer.produce(L.record("4"), to: L.out)
      try producer.commit(timeoutMilliseconds: 1_000)
    }
  }
}
