import FoundationEssentials
import Testing

@testable import Kafka

@Suite struct ClientStatisticsTests {
  private static let text = """
    { "name": "a\\"}{", "ts":5016483227792, "replyq":3, "msg_cnt":22, "msg_size":704, "empty":{}, "none":null,
      "brokers":{ "one:9092/2": { "name":"one:9092/2", "nodeid":2, "outbuf_cnt":1, "waitresp_cnt":4, "txerrs":5, "rxerrs":6,
        "req_timeouts":7, "txretries":8, "disconnects":9, "rtt": { "min":1, "avg":300, "sum":1200, "cnt":4, "p50":250,
        "p99":900, "outofrange":0 }, "req": { "Fetch":1 }, "toppars":{ "t-0": { "topic":"t", "partition":0 } } } },
      "topics":{ "t": { "topic":"t", "batchsize": { "min":-1.5 }, "partitions":{
        "0": { "partition":0, "fetchq_cnt":10, "fetchq_size":1000, "query_offset":-1001 },
        "1": { "partition":1, "fetchq_cnt":5, "fetchq_size":500 },
        "-1": { "partition":-1, "fetchq_cnt":0, "fetchq_size":0 } } } },
      "cgrp": { "state": "up", "list":[1, {"a":[]}, "x"] }, "tx":9 }
    """

  @Test func `the used statistics are read, and the rest is skipped`() throws {
    var expected = ClientStatistics()
    expected.queuedOperations = 3
    expected.producedMessages = 22
    expected.producedBytes = 704
    expected.fetchedMessages = 15
    expected.fetchedBytes = 1500
    var broker = BrokerStatistics()
    broker.number = 2
    broker.queuedRequests = 1
    broker.requestsInFlight = 4
    broker.failedSends = 5
    broker.unreadableResponses = 6
    broker.timeouts = 7
    broker.retries = 8
    broker.disconnects = 9
    broker.roundTrips = BrokerStatistics.RoundTrips(count: 4, sum: 1200, median: 250, percentile99: 900)
    expected.brokers = [broker]
    #expect(try ClientStatistics(json: Data(Self.text.utf8)) == expected)
    #expect(broker.errors == 11)
    #expect(throws: (any Error).self) { try ClientStatistics(json: Data(Self.text.utf8.dropLast())) }
  }

  @Test func `librdkafka's statistics can be read`() throws {
    let fixture = try Fixture()
    let consumer = try fixture.consumer(["statistics.interval.ms": "10"])
    let batch = consumer.makeBatch(capacity: 1)
    var brokers: Set<Int32> = []
    consumer.onStatistics = { brokers.formUnion($0.brokers.map(\.number)) }
    let giveUp = ContinuousClock.now + .seconds(300)
    while brokers.isEmpty {
      try #require(ContinuousClock.now < giveUp, "no statistics were read")
      try consumer.poll(into: batch, timeoutMilliseconds: 50)
    }
  }
}
