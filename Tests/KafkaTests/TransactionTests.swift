import Kafka
import KafkaTestSupport
import Testing

/// Transactions on the embedded cluster: the calls and their errors, not isolation.
struct TransactionTests {
  private let fixture: Fixture

  init() throws { fixture = try Fixture() }

  @Test func `records and offsets are committed in a transaction`() throws {
    try fixture.cluster.createTopic("output", partitions: 1)
    // Later mock clusters know no offsets of other topics.
    try fixture.cluster.createTopic("input", partitions: 1)

    let consumer = try fixture.consumer(["group.id": "group"])
    let producer = try fixture.registeredProducer()
    let output = TopicPartition(topic: "output", partition: 0)
    #expect(producer.deliveredEnd(of: output) == nil)
    for (index, text) in ["first", "second"].enumerated() {
      try producer.begin()
      try producer.produce("output", 0, [text])
      try producer.sendOffsets(
        [TopicPartition(topic: "input", partition: 0): CommittedOffset(7, metadata: "seven")],
        consumer.groupMetadata()
      )
      try producer.flush(timeoutMilliseconds: 120_000)
      // Later mock clusters write markers of transactions between the records.
      #expect(try #require(producer.deliveredEnd(of: output)) > index)
      try producer.commit()
    }
    #expect(producer.takeDeliveryErrors().isEmpty)

    let collector = Collector(consumer)
    try consumer.assign([.init(topic: "output", partition: 0, offset: 0)])
    try collector.poll(until: { collector.values(0).count == 2 }, "the records are there")
    #expect(collector.values(0) == ["first", "second"])
  }

  @Test func `a rejected record makes the commit require an abort, and the next transaction works`()
    throws
  {
    try fixture.cluster.createTopic("output", partitions: 1)
    let producer = try fixture.registeredProducer()
    try fixture.cluster.pushRequestErrors(.produce, [.messageTooLarge])
    try producer.begin()
    try producer.produce("output", 0, ["refused"])
    let error = #expect(throws: KafkaError.self) { try producer.commit() }
    #expect(error?.requiresAbort == true)
    #expect(error?.isFatal == false)
    let failures = producer.takeDeliveryErrors()
    #expect(failures.count == 1)
    #expect(failures.errors.first?.message.contains("output [0]") == true)
    try producer.abort()

    // librdkafka may also fail the next transaction while it renews the producer's epoch: abort and retry.
    var attempts = 0
    while true {
      attempts += 1
      try producer.begin()
      do {
        try producer.produce("output", 0, ["accepted"])
        try producer.commit()
        break
      } catch let error as KafkaError where error.requiresAbort && attempts < 5 {
        try producer.abort()
      }
    }
    #expect(producer.takeDeliveryErrors().isEmpty)
  }

  @Test func `an abort keeps the error of a record that was rejected, and not those of records it discards`()
    throws
  {
    try fixture.cluster.createTopic("output", partitions: 1)
    let consumer = try fixture.consumer(["group.id": "group"])
    let producer = try fixture.transactionalProducer(["transactional.id": "one", "linger.ms": "0"])
    try producer.initTransactions(timeoutMilliseconds: 120_000)

    try fixture.cluster.pushRequestErrors(.produce, [.recordListTooLarge])
    try producer.begin()
    try producer.produce("output", 0, ["rejected"])
    // Nothing polls the producer meanwhile, so that the abort is the first to see the delivery report.
    let input = TopicPartition(topic: "input", partition: 0)
    let giveUp = ContinuousClock.now + .seconds(300)
    var hasFailed = false
    while !hasFailed {
      try #require(ContinuousClock.now < giveUp, "the transaction fails")
      do throws(KafkaError) {
        try producer.sendOffsets([input: .init(7)], consumer.groupMetadata())
      } catch {
        // The call in which the broker answers may fail for another reason.
        hasFailed = error.requiresAbort
      }
    }
    #expect(producer.takeDeliveryErrors().isEmpty)
    try producer.abort()
    let errors = producer.takeDeliveryErrors()
    #expect(errors.errors.map(\.kind) == [.recordListTooLarge])

    try fixture.cluster.setBrokerDown(nil)
    try producer.begin()
    try producer.produce("output", 0, ["discarded"])
    try fixture.cluster.setBrokerUp(nil)
    try producer.abort()
    #expect(producer.takeDeliveryErrors().isEmpty)
  }

  @Test func `offsets of a member that the group has removed require an abort`() throws {
    let consumer = try fixture.consumer(["group.id": "group"])
    let producer = try fixture.registeredProducer()
    try producer.begin()
    try fixture.cluster.pushRequestErrors(.txnOffsetCommit, [.illegalGeneration])
    let error = #expect(throws: KafkaError.self) {
      try producer.sendOffsets([.init(topic: "input", partition: 0): .init(7)], consumer.groupMetadata())
    }
    #expect(error?.requiresAbort == true)
    #expect(error?.message.contains("input [0] @ 7") == true)
    try producer.abort()
  }

  @Test func `a producer follows a coordinator that moves`() throws {
    let fixture = try Fixture(brokerCount: 2)
    try fixture.cluster.createTopic("output", partitions: 1)
    try fixture.cluster.setCoordinator(.transaction("one"), broker: 1)
    let producer = try fixture.registeredProducer()
    try producer.begin()
    try producer.produce("output", 0, ["value"])
    try fixture.cluster.setCoordinator(.transaction("one"), broker: 2)
    try fixture.cluster.pushRequestErrors(.endTxn, [.coordinatorNotAvailable])
    try producer.commit()
    #expect(producer.takeDeliveryErrors().isEmpty)
  }

  @Test func `a fenced producer fails permanently`() throws {
    try fixture.cluster.createTopic("output", partitions: 1)
    let producer = try fixture.registeredProducer()
    try producer.begin()
    try producer.produce("output", 0, ["late"])
    try fixture.cluster.pushRequestErrors(.endTxn, [.invalidProducerEpoch])
    let error = #expect(throws: KafkaError.self) { try producer.commit() }
    #expect(error?.isFatal == true)
    #expect(error?.isRetriable == false)
    #expect(error?.message.contains("transactional.id") == true)
    #expect(throws: KafkaError.self) { try producer.begin() }
  }

  @Test func `calls out of order are refused, not retried`() throws {
    let producer = try fixture.transactionalProducer(["transactional.id": "one"])
    let error = #expect(throws: KafkaError.self) { try producer.begin() }
    #expect(error?.kind == .state)
    #expect(error?.isRetriable == false)
    try producer.close(timeoutMilliseconds: 120_000)
    #expect(throws: KafkaError.self) { try producer.begin() }
  }

  @Test func `initialising without a coordinator times out and can be retried`() throws {
    try fixture.cluster.setBrokerDown(nil)
    let producer = try fixture.transactionalProducer([
      "transactional.id": "one", "transaction.timeout.ms": "60000",
    ])
    let error = #expect(throws: KafkaError.self) { try producer.initTransactions(timeoutMilliseconds: 200) }
    #expect(error?.isRetriable == true)
    #expect(error?.isFatal == false)
    try fixture.cluster.setBrokerUp(nil)
    try producer.initTransactions(timeoutMilliseconds: 120_000)
  }

  @Test func `a producer is registered soon after brokers have ended an earlier transaction`() throws {
    let producer = try fixture.transactionalProducer([
      "transactional.id": "one", "transaction.timeout.ms": "60000",
    ])
    let refusals = 24
    try fixture.cluster.pushRequestErrors(
      .initProducerID,
      [KafkaErrorCode](repeating: .concurrentTransactions, count: refusals)
    )
    // librdkafka 2.0.2 by itself asks twice a second.
    try producer.initTransactions(timeoutMilliseconds: Int32(refusals) * 500 - 1)
    try producer.begin()
    try producer.abort(timeoutMilliseconds: 120_000)
  }
}
