import KafkaTestSupport
import Synchronization
import Testing

@testable import Kafka

struct DeliveryTests {
  private let fixture: Fixture

  init() throws { fixture = try Fixture() }

  @Test func `records that time out while the broker is down are counted and named`() throws {
    try fixture.cluster.createTopic("output", partitions: 1)
    let producer = try fixture.producer(["message.timeout.ms": "300"])
    try fixture.cluster.setBrokerDown(nil)
    try producer.produce("output", 0, ["one", "two", "three"])

    var failures = 0
    var first: KafkaError?
    let giveUp = ContinuousClock.now + .seconds(300)
    while failures < 3 {
      try #require(ContinuousClock.now < giveUp, "the records fail")
      if try producer.poll(timeoutMilliseconds: 50) {
        let errors = producer.takeDeliveryErrors()
        failures += errors.count
        first = first ?? errors.errors.first
      }
    }
    #expect(failures == 3)
    #expect(first?.kind == .messageTimedOut)
    #expect(first?.message.contains("output [0]") == true)
    #expect(producer.takeDeliveryErrors().isEmpty, "taken is taken")
    // An error of the client itself, such as that no broker is up, waits in the same queue.
    while producer.queuedCount > 0 {
      try #require(ContinuousClock.now < giveUp, "nothing is queued any more")
      try producer.poll(timeoutMilliseconds: 50)
    }
  }

  @Test func `what becomes of each record is reported, also of those that are discarded`() throws {
    try fixture.cluster.createTopic("output", partitions: 1)
    let producer = try fixture.producer(["delivery.report.only.error": "false"])
    let outcomes = Mutex<[Int: Result<Int64, KafkaError>]>([:])
    producer.onDelivery = { number, result in outcomes.withLock { $0[number] = result } }
    try producer.produce("output", 0, ["one", "two"])
    try producer.flush(timeoutMilliseconds: 120_000)
    #expect(producer.producedCount == 2)
    #expect(try outcomes.withLock { [try $0[1]?.get(), try $0[2]?.get()] } == [0, 1])
    try fixture.cluster.setBrokerDown(nil)
    try producer.produce("output", 0, ["three"])
    #expect(throws: KafkaError.self) { try producer.close(timeoutMilliseconds: 100) }
    #expect(throws: KafkaError.self) { try outcomes.withLock { _ = try $0[3]?.get() } }
    #expect(producer.hasFailed)
  }

  @Test func `a full queue is an error that polling resolves`() throws {
    try fixture.cluster.createTopic("output", partitions: 1)
    let producer = try fixture.producer(["queue.buffering.max.messages": "2", "linger.ms": "0"])
    try fixture.cluster.setBrokerDown(nil)
    try producer.produce("output", 0, ["one", "two"])
    let error = #expect(throws: KafkaError.self) { try producer.produce("output", 0, ["three"]) }
    #expect(error?.kind == .queueFull)
    #expect(error?.isRetriable == true)
    #expect(producer.queuedCount >= 2)

    try fixture.cluster.setBrokerUp(nil)
    try producer.flush(timeoutMilliseconds: 120_000)
    try producer.produce("output", 0, ["three"])
    try producer.flush(timeoutMilliseconds: 120_000)
    #expect(producer.takeDeliveryErrors().isEmpty)
  }

  @Test func `a broker's error is a delivery error`() throws {
    try fixture.cluster.createTopic("output", partitions: 1)
    let producer = try fixture.producer()
    try fixture.cluster.pushRequestErrors(.produce, [.topicAuthorizationFailed])
    try producer.produce("output", 0, ["one"])
    try producer.flush(timeoutMilliseconds: 120_000)
    let failures = producer.takeDeliveryErrors()
    #expect(failures.count == 1)
    #expect(failures.errors.first?.kind == .topicAuthorizationFailed)
    #expect(failures.errors.first?.isRetriable == false)
    #expect(failures.errors.first?.message.hasSuffix("grant the client's user WRITE on the topic") == true)
  }

  @Test(
    arguments: [
      (.topicAuthorizationFailed, "deliver a record to t [0]", "WRITE on the topic"),
      (.topicAuthorizationFailed, "commit the transaction", "WRITE on the topic"),
      (.topicAuthorizationFailed, "read t [0]", "READ on the topic"),
      (.topicAuthorizationFailed, "read metadata", "DESCRIBE on the topic"),
      (.topicAuthorizationFailed, "create t", "CREATE on the topic"),
      (.groupAuthorizationFailed, "poll", "READ on the group"),
      (
        .transactionalIDAuthorizationFailed, "start the transactional producer",
        "WRITE on the transactional id"
      ),
      (.clusterAuthorizationFailed, "start the producer", "IDEMPOTENT_WRITE on the cluster"),
      (.messageTimedOut, "deliver a record to t [0]", "check that the topic exists"),
    ] as [(KafkaErrorCode, String, String)]
  )
  func `an error names the right or the topic that is missing`(
    _ code: KafkaErrorCode,
    _ action: String,
    _ remedy: String
  ) {
    let message = KafkaError.make(code, action).message
    #expect(message.contains(action) && message.contains(remedy), "\(message)")
  }

  @Test func `a request to a broker that the client dropped can be repeated`() {
    #expect(KafkaError.make(.brokerDropped, "read").isRetriable)
    #expect(KafkaErrorCode.brokerDropped.name == (Librdkafka.dropsBrokers ? "_DESTROY_BROKER" : "ERR_-137?"))
  }

  @Test func `a broker that delays a client is named, with the quota`() {
    let lines = Mutex<[String]>([])
    let context = CallbackContext(KafkaConfiguration()) { level, facility, text in
      lines.withLock { $0.append("\(level) \(facility) \(text)") }
    }
    for milliseconds: Int32 in [0, 99, 1_500] {
      context.noteThrottling(by: "b:9092/1", milliseconds: milliseconds)
    }
    let told = lines.withLock { $0 }
    #expect(
      told.count == 1 && told[0].hasPrefix("warning THROTTLE broker b:9092/1 delays this client by 1500 ms")
    )
    #expect(told[0].contains("quota"))
  }

  @Test func `closing with undeliverable records reports their number`() throws {
    try fixture.cluster.createTopic("output", partitions: 1)
    let producer = try fixture.producer()
    try fixture.cluster.setBrokerDown(nil)
    try producer.produce("output", 0, ["one", "two"])
    let error = #expect(throws: KafkaError.self) { try producer.close(timeoutMilliseconds: 2_000) }
    #expect(error?.kind == .timedOut)
    #expect(error?.message.contains("2 records") == true)
  }

  @Test
  func
    `log lines reach the handler and errors the batch; that all brokers are down is an error, one a warning`()
    throws
  {
    let lines = Mutex<[(level: KafkaLogLevel, facility: String, text: String)]>([])
    // Nothing listens there.
    let consumer = try Consumer(configuration: ["bootstrap.servers": "127.0.0.1:1", "group.id": "g"]) {
      let line = ($0, $1, $2)
      lines.withLock { $0.append(line) }
    }
    let batch = consumer.makeBatch(capacity: 10)
    try consumer.subscribe("nowhere")
    var reported: KafkaError?
    let giveUp = ContinuousClock.now + .seconds(300)
    while reported?.kind != .allBrokersDown {
      try #require(ContinuousClock.now < giveUp, "the loss of all brokers is reported")
      try consumer.poll(into: batch, timeoutMilliseconds: 50)
      for case .error(let error) in batch.events { reported = error }
    }
    #expect(reported?.isRetriable == true)
    #expect(reported?.message.contains("bootstrap.servers") == true)
    lines.withLock { lines in
      #expect(lines.contains { $0.text.contains("127.0.0.1:1") })
      #expect(Set(lines.filter { $0.facility == "_TRANSPORT" }.map(\.level)) == [.warning])
      #expect(Set(lines.filter { $0.facility == "_ALL_BROKERS_DOWN" }.map(\.level)) == [.error])
    }
    try consumer.close(timeoutMilliseconds: 120_000)
  }

  @Test func `a stopped cluster refuses calls`() throws {
    fixture.cluster.stop()
    fixture.cluster.stop()
    let error = #expect(throws: KafkaError.self) { try fixture.cluster.createTopic("late", partitions: 1) }
    #expect(error?.kind == .closed)
  }
}
