import Kafka
import KafkaTestSupport
import Testing

struct RoundTripTests {
  private let fixture: Fixture

  init() throws { fixture = try Fixture() }

  @Test func `keys, values, headers and times are read as written, nulls as nulls`() throws {
    try fixture.cluster.createTopic("records", partitions: 1)

    let producer = try fixture.producer()
    var headers = HeaderList()
    headers.append("content-type", "application/json")
    headers.append("empty", "")
    headers.append("null", nil)
    headers.append(Header(name: "bytes", value: [0, 255]))
    try withBytes("key") { key in
      try withBytes("value") { value in
        try producer.produce(
          topic: "records",
          partition: 0,
          key: key,
          value: value,
          headers: headers,
          timestampMilliseconds: 1_700_000_000_123
        )
      }
    }
    headers.removeAll()
    try withBytes("gone") { key in
      try producer.produce(topic: "records", partition: 0, key: key, value: nil, headers: headers)
    }
    // Empty bytes with a nil address are empty, not null.
    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
    try producer.produce(topic: "records", partition: 0, key: empty, value: empty)
    try producer.produce(topic: "records", partition: 0, key: nil, value: empty)
    try producer.flush(timeoutMilliseconds: 120_000)
    #expect(producer.takeDeliveryErrors().isEmpty)
    try producer.close(timeoutMilliseconds: 120_000)

    let consumer = try fixture.consumer()
    let batch = consumer.makeBatch(capacity: 100)
    try consumer.assign([.init(topic: "records", partition: 0, offset: TopicPartitionOffset.beginning)])

    struct Copy: Equatable {
      var offset: Int64
      var key: String?
      var value: String?
      var headers: [Header]
    }
    var copies: [Copy] = []
    var end: ConsumerEvent?
    var firstTime: Int64?
    let giveUp = ContinuousClock.now + .seconds(300)
    while end == nil {
      try #require(ContinuousClock.now < giveUp, "the end of the partition was not reported")
      try consumer.poll(into: batch, timeoutMilliseconds: 50)
      for index in 0..<batch.count {
        let message = batch[index]
        #expect(consumer.topicName(at: message.topicIndex) == "records")
        #expect(message.partition == 0)
        firstTime = firstTime ?? message.timestampMilliseconds
        copies.append(
          Copy(
            offset: message.offset,
            key: text(message.key),
            value: text(message.payload),
            headers: message.headers()
          )
        )
      }
      end = batch.events.first
    }

    #expect(firstTime == 1_700_000_000_123)
    #expect(
      copies == [
        Copy(
          offset: 0,
          key: "key",
          value: "value",
          headers: [
            Header(name: "content-type", value: Array("application/json".utf8)),
            Header(name: "empty", value: []),
            Header(name: "null", value: nil),
            Header(name: "bytes", value: [0, 255]),
          ]
        ),
        Copy(offset: 1, key: "gone", value: nil, headers: []),
        Copy(offset: 2, key: "", value: "", headers: []),
        Copy(offset: 3, key: nil, value: "", headers: []),
      ]
    )
    #expect(end == .endOfPartition(topic: 0, partition: 0, offset: 4))
    #expect(
      try consumer.queryWatermarks(.init(topic: "records", partition: 0), timeoutMilliseconds: 120_000)
        == Watermarks(low: 0, high: 4)
    )
  }

  @Test func `a poll returns at most the batch's capacity, and nothing is lost between polls`() throws {
    try fixture.fill("numbers", partitions: 2, recordsEach: 500)

    let consumer = try fixture.consumer()
    let collector = Collector(consumer, maxMessages: 7)
    let small = consumer.makeBatch(capacity: 3)
    try consumer.assign([
      .init(topic: "numbers", partition: 0, offset: 0),
      .init(topic: "numbers", partition: 1, offset: 490),
    ])
    var largest = 0
    try collector.poll(
      until: {
        largest = max(largest, collector.batch.count)
        return collector.ends.count == 2
      },
      "both partitions end"
    )
    #expect(largest <= 7)
    #expect(collector.values(0) == (0..<500).map { String($0) })
    #expect(collector.values(1) == (490..<500).map { String($0) })
    #expect(collector.ends == [0: 500, 1: 500])

    try consumer.seek([.init(topic: "numbers", partition: 1, offset: 490)], timeoutMilliseconds: 120_000)
    while try consumer.poll(into: small, timeoutMilliseconds: 50) == 0 {}
    #expect(small.count <= 3)
  }

  @Test func `missing topics are values, and requesting them does not create them`() throws {
    try fixture.cluster.createTopic("here", partitions: 3)

    // Otherwise librdkafka does not report a missing topic for 30 s, because it could be new.
    let consumer = try fixture.consumer(["topic.metadata.propagation.max.ms": "100"])
    for _ in 0..<2 {
      let metadata = try consumer.metadata(["nowhere", "here"], timeoutMilliseconds: 120_000)
      #expect(metadata.partitionCounts == ["here": 3])
      #expect(metadata.missing == ["nowhere"])
    }

    // Reading a missing topic does not throw either: the error is an event that names the topic. (The embedded cluster
    // would create it.)
    try fixture.cluster.setTopicError("nowhere", .unknownTopicOrPartition)
    let collector = Collector(consumer)
    try consumer.assign([.init(topic: "nowhere", partition: 0, offset: 0)])
    var found: KafkaError?
    try collector.poll(
      until: {
        for case .error(let error) in collector.events where error.message.contains("nowhere") {
          found = error
        }
        return found != nil
      },
      "the unknown topic is reported"
    )
    #expect(found?.kind == .unknownTopicOrPartition)
  }

  @Test func `a closed consumer throws, frees its batches, and can be closed again`() throws {
    try fixture.fill("numbers", partitions: 1, recordsEach: 10)

    let consumer = try fixture.consumer()
    let batch = consumer.makeBatch(capacity: 100)
    try consumer.assign([.init(topic: "numbers", partition: 0, offset: 0)])
    while try consumer.poll(into: batch, timeoutMilliseconds: 50) == 0 {}
    #expect(batch.count > 0)
    // librdkafka would wait for ever for messages that are not returned.
    try consumer.close(timeoutMilliseconds: 120_000)
    #expect(batch.isEmpty)
    let error = #expect(throws: KafkaError.self) {
      try consumer.poll(into: batch, timeoutMilliseconds: 0)
    }
    #expect(error?.kind == .closed)
    try consumer.close(timeoutMilliseconds: 0)
  }
}
