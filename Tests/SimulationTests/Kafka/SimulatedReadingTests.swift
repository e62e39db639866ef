import Kafka
import SimulationSupport
import Testing

@Suite struct SimulatedReadingTests {
  private let laboratory = Laboratory()
  private typealias L = Laboratory

  private func reader(
    _ process: SimulatedProcess,
    _ isolation: IsolationLevel = .readCommitted
  ) -> SimulatedConsumer {
    var options = ConsumerOptions()
    options.isolation = isolation
    return SimulatedConsumer(laboratory.network, process, options)
  }

  private func reader(_ process: SimulatedProcess, from offset: Int64) throws -> SimulatedConsumer {
    let consumer = reader(process)
    try consumer.add([TopicPartitionOffset(L.input, offset: offset)])
    return consumer
  }

  private func fill(_ count: Int) {
    for number in 0..<count { laboratory.cluster.append(L.record("\(number)"), to: L.input) }
  }

  private func read(
    _ consumer: SimulatedConsumer,
    seconds: Int64 = 5
  ) throws -> (texts: [String], ends: [Int64]) {
    var (texts, ends): ([String], [Int64]) = ([], [])
    let deadline = laboratory.simulator.now + seconds * 1_000_000
    while laboratory.simulator.now < deadline {
      let polled = try consumer.poll(most: 7, milliseconds: 100)
      texts += polled.records.map { String(decoding: $0.record.value ?? [], as: UTF8.self) }
      for case .end(_, let offset) in polled.events { ends.append(offset) }
    }
    return (texts, ends)
  }

  @Test func `records come in their order, and then the end`() {
    fill(100)
    laboratory.run { [self] process in
      let consumer = try reader(process, from: 10)
      let (texts, ends) = try read(consumer)
      #expect(texts == (10..<100).map { "\($0)" })
      #expect(ends == [100])
      laboratory.cluster.append(L.record("more"), to: L.input)
      let more = try read(consumer)
      #expect(more.texts == ["more"] && more.ends == [101])
    }
  }

  @Test func `what a seek passes over is not handed out`() {
    fill(100)
    laboratory.run { [self] process in
      let consumer = try reader(process, from: 0)
      _ = try consumer.poll(most: 5, milliseconds: 1_000)
      try consumer.seek([TopicPartitionOffset(L.input, offset: 95)], timeoutMilliseconds: 1_000)
      let value1 = try read(consumer).texts
      #expect(value1 == (95..<100).map { "\($0)" })
    }
  }

  @Test func `a paused partition is read on where it was`() {
    fill(20)
    laboratory.run { [self] process in
      let consumer = try reader(process, from: 0)
      var texts = try consumer.poll(most: 5, milliseconds: 1_000).records.count
      try consumer.pause([L.input])
      let value2 = try read(consumer).texts.isEmpty
      #expect(value2)
      try consumer.resume([L.input])
      texts += try read(consumer).texts.count
      #expect(texts == 20)
    }
  }

  @Test func `reading goes on when leaders move and brokers die`() {
    laboratory.run { [self] process in
      let consumer = try reader(process, from: 0)
      var texts: [String] = []
      for number in 0..<12 {
        laboratory.cluster.append(L.record("\(number)"), to: L.input)
        if number % 3 == 0 { laboratory.cluster.moveLeader(of: L.input, staleFor: 0) }
        if number % 4 == 0 { laboratory.cluster.stop(broker: number / 4) }
        if number % 4 == 2 { laboratory.cluster.start(broker: number / 4) }
        texts += try read(consumer).texts
      }
      #expect(texts == (0..<12).map { "\($0)" })
    }
  }

  @Test func `a broker that is no longer the leader reports an outdated end`() {
    laboratory.cluster.append(L.record("a"), to: L.input)
    laboratory.run { [self] process in
      let consumer = reader(process, .readUncommitted)
      laboratory.cluster.moveLeader(of: L.input, staleFor: 3_000_000)
      laboratory.cluster.append(L.record("b"), to: L.input)
      let value3 = try consumer.queryWatermarks(L.input, timeoutMilliseconds: 1_000).high
      #expect(value3 == 1)
      laboratory.simulator.sleep(3_000_000)
      let value4 = try consumer.queryWatermarks(L.input, timeoutMilliseconds: 1_000).high
      #expect(value4 == 2)
    }
  }

  @Test func `compaction keeps the newest record of each key, and offsets`() {
    for text in ["a", "b", "a", "c"] { laboratory.cluster.append(L.record(text), to: L.input) }
    laboratory.cluster.log(L.input)?.compact(keepingTombstones: true)
    #expect(laboratory.contents(of: L.input) == ["b", "a", "c"])
    #expect(laboratory.cluster.log(L.input)?.high == 4)
  }
}
