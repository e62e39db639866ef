import Testing

@testable import Kafka

@Suite struct ClientStatisticsTests {
  private static func read(_ text: String) -> ClientStatistics {
    var text = text
    return text.withUTF8 { ClientStatistics(json: UnsafeRawBufferPointer($0)) }
  }

  private static let text = """
    { "name": "a\\"}{", "ts":5016483227792, "replyq":3, "msg_cnt":22, "msg_size":704, "empty":{}, "none":null,
      "brokers":{ "one:9092/2": { "name":"one:9092/2", "nodeid":2, "outbuf_cnt":1, "waitresp_cnt":4, "txerrs":5, "rxerrs":6,
        "req_timeouts":7, "txretries":8, "disconnects":9, "rtt": { "min":1, "avg":300, "sum":1200, "cnt":4, "p50":250,
        "p99":900, "outofrange":0 }, "req": { "Fetch":1 }, "toppars":{ "t-0": { "topic":"t", "partition":0 } } },
        "GroupCoordinator": { "nodeid":-1, "rtt": { "sum":0, "cnt":0 } } },
      "topics":{ "t": { "topic":"t", "batchsize": { "min":-1.5 }, "partitions":{
        "0": { "partition":0, "fetchq_cnt":10, "fetchq_size":1000, "query_offset":-1001 },
        "1": { "partition":1, "fetchq_cnt":5, "fetchq_size":500 },
        "-1": { "partition":-1, "fetchq_cnt":0, "fetchq_size":0 } } } },
      "cgrp": { "state": "up", "list":[1, {"a":[]}, "x"] }, "tx":9 }
    """

  @Test func `the used statistics are read, and the rest is skipped`() {
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
    broker.errors = 11
    broker.timeouts = 7
    broker.retries = 8
    broker.disconnects = 9
    broker.roundTrips.count = 4
    broker.roundTrips.sum = 1200
    broker.roundTrips.median = 250
    broker.roundTrips.percentile99 = 900
    expected.brokers = [broker, BrokerStatistics()]
    #expect(Self.read(Self.text) == expected)
  }

  @Test(arguments: [
    ("-1", -1), ("0", 0), ("-0", 0), ("9223372036854775807", Int.max), ("-9223372036854775807", -Int.max),
    ("-9223372036854775808", Int.min), ("18446744073709551615", -1), ("-", 0), ("1.5", 1), ("\"7\"", 0),
  ])
  func `a 64-bit integer is read, with or without a sign`(_ spelling: String, _ number: Int) {
    #expect(Self.read(#"{"replyq":\#(spelling),"msg_cnt":5}"#).queuedOperations == number)
    #expect(Self.read(#"{"replyq":\#(spelling),"msg_cnt":5}"#).producedMessages == 5)
  }

  @Test func `truncated or changed text ends the scan`() {
    let bytes = Array(Self.text.utf8)
    for count in 0...bytes.count {
      // On the heap and of exact size, so that an address sanitizer detects reads beyond the end.
      let part = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
      defer { part.deallocate() }
      part.copyBytes(from: bytes[..<count])
      _ = ClientStatistics(json: UnsafeRawBufferPointer(part))
    }
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    var random = SeededNumbers(seed)
    for _ in 0..<2_000 {
      var changed = bytes
      for _ in 0..<8 {
        changed[Int(random.next() % UInt64(bytes.count))] =
          Array("{}[]\":,\\ 0a-".utf8)[Int(random.next() % 12)]
      }
      changed.withUnsafeBytes { _ = ClientStatistics(json: $0) }
    }
  }

  /// Knuth's linear congruential generator; its upper bits.
  private struct SeededNumbers {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state >> 33
    }
  }
}
