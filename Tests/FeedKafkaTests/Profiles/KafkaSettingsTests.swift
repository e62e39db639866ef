import Kafka
import Settings
import Testing

@testable import FeedKafka

struct KafkaSettingsTests {
  private func settings(_ properties: KeyValuePairs<String, String>) throws -> KafkaSettings {
    let pairs = properties.map { ConfigurationPair(name: $0, value: $1) }
    return try KafkaSettings([ConfigurationPair(name: "bootstrap.servers", value: "host:9092")] + pairs)
  }

  private func worker(_ number: Int = 0, of count: Int = 1) -> WorkerIdentity {
    WorkerIdentity(number: number, count: count, process: Self.process)
  }

  private static let process = ProcessIdentity(group: "settings")

  @Test func `a broker's address is required; the error mentions --embedded for commands that support it`() {
    let either = #expect(throws: ConfigurationError.self) { try KafkaSettings([], mayEmbed: true) }
    let only = #expect(throws: ConfigurationError.self) { try KafkaSettings([]) }
    #expect(either?.description.contains("--embedded") == true)
    #expect(only?.description.contains("--embedded") == false)
    for error in [either, only] { #expect(error?.description.contains("kafka.bootstrap.servers") == true) }
  }

  @Test func `a broker's address and the embedded broker exclude each other`() {
    let pairs = [ConfigurationPair(name: "bootstrap.servers", value: "host:9092")]
    let error = #expect(throws: ConfigurationError.self) { try KafkaSettings(pairs, embedded: []) }
    #expect(error?.description.contains("host:9092") == true)
  }

  @Test func `FeedStore's defaults apply where the user sets nothing`() throws {
    let settings = try settings([:])
    #expect(settings.groupID == "feedstore")
    let member = settings.member(worker())
    #expect(member["group.id"] == "feedstore")
    #expect(member["auto.offset.reset"] == "earliest")
    #expect(member["client.id"] == "feedstore")
    #expect(member["session.timeout.ms"] == "10000")
    #expect(member["group.instance.id"] == nil)
    #expect(member["transactional.id"] == nil)
    #expect(settings.reader["group.id"] == nil)
    #expect(settings.producer["transactional.id"] == nil)
    let producer = settings.transactionalProducer(worker(2, of: 3), slowInARow: 0)
    #expect(producer["transactional.id"] == "feedstore-\(Self.process.text)-2")
  }

  @Test func `silent brokers and moved leaders are noticed soon`() throws {
    let settings = try settings([:])
    for configuration in [settings.member(worker()), settings.reader, settings.follower, settings.restorer] {
      #expect(configuration["socket.timeout.ms"] == "10000")
    }
    for configuration in [settings.member(worker()), settings.follower] {
      #expect(configuration["topic.metadata.refresh.interval.ms"] == "5000")
      #expect(configuration["metadata.max.age.ms"] == "900000")
    }
    #expect(settings.member(worker())["coordinator.query.interval.ms"] == "5000")
    #expect(settings.restorer["topic.metadata.refresh.interval.ms"] == "100")
    // Brokers may take as long as configured.
    let patient = try self.settings(["fetch.wait.max.ms": "60000"])
    #expect(patient.member(worker())["socket.timeout.ms"] == "65000")
    let own = try self.settings(["socket.timeout.ms": "2000", "coordinator.query.interval.ms": "7000"])
    #expect(own.member(worker())["socket.timeout.ms"] == "2000")
    #expect(own.member(worker())["coordinator.query.interval.ms"] == "7000")
    for configuration in [settings.member(worker()), patient.member(worker()), patient.follower] {
      let consumer = try Consumer(configuration: configuration) { _, _, _ in }
      try consumer.close(timeoutMilliseconds: 10_000)
    }
  }

  @Test func `batches are limited as brokers require`() throws {
    let settings = try settings(["batch.size": "500000"])
    var limit = BatchLimit()
    func size() -> String? {
      settings.transactionalProducer(worker(), slowInARow: 0, limit)["batch.size"]
    }
    #expect(size() == "500000")
    limit.shrink(from: settings.batchBytes)
    #expect(size() == "50000")
  }

  @Test func `each transaction that was too slow doubles the next timeout, up to a maximum`() throws {
    let settings = try settings([:])
    func timeout(_ slowInARow: Int) -> String? {
      settings.transactionalProducer(worker(), slowInARow: slowInARow)["transaction.timeout.ms"]
    }
    #expect([0, 1, 2, 5, 1_000].map(timeout) == ["10000", "20000", "40000", "60000", "60000"])
    let fixed = try self.settings(["transaction.timeout.ms": "7000"])
    #expect(
      fixed.transactionalProducer(worker(), slowInARow: 3)["transaction.timeout.ms"] == "7000"
    )
  }

  @Test func `timeouts longer than a transaction's are not passed to the transactional producer`() throws {
    let settings = try settings(["socket.timeout.ms": "30000", "message.timeout.ms": "15000"])
    let producer = settings.transactionalProducer(worker(), slowInARow: 0)
    #expect(producer["socket.timeout.ms"] == nil)
    #expect(producer["message.timeout.ms"] == nil)
    let slower = settings.transactionalProducer(worker(), slowInARow: 1)
    #expect(slower["socket.timeout.ms"] == nil)
    #expect(slower["message.timeout.ms"] == "15000")
    #expect(settings.member(worker())["socket.timeout.ms"] == "30000")
    #expect(settings.producer["message.timeout.ms"] == "15000")
    for slowInARow in 0...3 {
      let configuration = settings.transactionalProducer(worker(), slowInARow: slowInARow)
      let client = try TransactionalProducer(configuration: configuration) { _, _, _ in }
      try client.close(timeoutMilliseconds: 10_000)
    }
  }

  @Test func `an instance's name is used for its group membership and its transactions`() throws {
    let settings = try settings(["group.id": "g", "group.instance.id": "one"])
    #expect(settings.member(worker())["group.instance.id"] == "one")
    #expect(settings.member(worker(1, of: 2))["group.instance.id"] == "one-1")
    #expect(settings.reader["group.instance.id"] == nil)
    let producer = settings.transactionalProducer(worker(1, of: 2), slowInARow: 0)
    #expect(producer["transactional.id"] == "g-one-1")
  }

  @Test func `a call of the producer does not wait for ever for a dropped broker`() throws {
    let producer = try settings([:]).transactionalProducer(worker(), slowInARow: 0)
    #expect(producer["connections.max.idle.ms"] == (Librdkafka.dropsBrokers ? "10000" : nil))
    let given = try settings(["connections.max.idle.ms": "0"]).transactionalProducer(worker(), slowInARow: 0)
    #expect(given["connections.max.idle.ms"] == "0")
  }

  @Test func `prefetched input is limited by bytes, unless the user sets a limit`() throws {
    let member = try settings([:]).member(worker())
    #expect(member["queued.max.messages.kbytes"] == "32768")
    #expect(member["queued.min.messages"] == "10000000")
    let given = try settings(["queued.max.messages.kbytes": "4096", "queued.min.messages": "7"]).member(
      worker()
    )
    #expect(given["queued.max.messages.kbytes"] == "4096")
    #expect(given["queued.min.messages"] == "7")
  }

  @Test func `librdkafka checks soon for room in its queue, if its version supports that`() throws {
    let known = KafkaConfiguration.knows("fetch.queue.backoff.ms")
    for configuration in try [settings([:]).member(worker()), settings([:]).restorer] {
      #expect(configuration["fetch.queue.backoff.ms"] == (known ? "5" : nil))
      #expect(throws: Never.self) { try configuration.check() }
    }
  }

  @Test func `the prefetch of a restore is limited, unless the user sets a limit`() throws {
    let restorer = try settings([:]).restorer
    #expect(restorer["queued.max.messages.kbytes"] == "131072")
    #expect(restorer["fetch.max.bytes"] == "16777216")
    #expect(restorer["group.id"] == nil)
    #expect(restorer["auto.offset.reset"] == "earliest")
    #expect(try settings([:]).reader["queued.max.messages.kbytes"] == nil)
    let bounded = try settings(["queued.max.messages.kbytes": "4096", "queued.min.messages": "7"]).restorer
    #expect(bounded["queued.max.messages.kbytes"] == "4096")
    #expect(bounded["queued.min.messages"] == "7")
    #expect(restorer["fetch.message.max.bytes"] == "4194304")
    // An alias of the same property.
    let other = try settings(["max.partition.fetch.bytes": "65536"]).restorer
    #expect(other["fetch.message.max.bytes"] == nil)
  }

  @Test(arguments: ["1000", "16777216", "16777217", "50000000"])
  func `librdkafka accepts the restore's configuration for any record size`(bytes: String) throws {
    let restorer = try settings(["message.max.bytes": bytes]).restorer
    #expect(restorer["fetch.max.bytes"].flatMap { Int($0) } == max(16_777_216, try #require(Int(bytes))))
    #expect(throws: Never.self) { try Consumer(configuration: restorer, log: { _, _, _ in }) }
  }

  @Test func `the user's properties are passed to the clients that support them`() throws {
    let settings = try settings([
      "group.id": "mine", "linger.ms": "20", "max.poll.interval.ms": "60000", "security.protocol": "ssl",
      "auto.offset.reset": "smallest", "transactional.id": "line", "client.id": "me",
    ])
    let producer = settings.transactionalProducer(worker(), slowInARow: 0)
    #expect(settings.groupID == "mine")
    #expect(settings.member(worker())["group.id"] == "mine")
    #expect(settings.member(worker())["auto.offset.reset"] == "earliest")
    #expect(settings.member(worker())["max.poll.interval.ms"] == "60000")
    #expect(settings.member(worker())["linger.ms"] == nil)
    #expect(settings.reader["auto.offset.reset"] == "earliest")
    #expect(producer["linger.ms"] == "20")
    #expect(producer["max.poll.interval.ms"] == nil)
    #expect(producer["group.id"] == nil)
    #expect(producer["transactional.id"] == "line-0")
    for configuration in [settings.member(worker()), settings.reader, settings.producer, producer] {
      #expect(configuration["bootstrap.servers"] == "host:9092")
      #expect(configuration["security.protocol"] == "ssl")
      #expect(configuration["client.id"] == "me")
    }
  }

  @Test(arguments: [
    ("enable.auto.commit", "true"), ("enable.auto.offset.store", "true"), ("enable.partition.eof", "false"),
    ("isolation.level", "read_uncommitted"), ("partition.assignment.strategy", "roundrobin"),
    ("enable.idempotence", "false"), ("acks", "1"),
  ])
  func `a property that exactly-once delivery depends on is refused with the reason`(
    name: String,
    value: String
  ) {
    let error = #expect(throws: ConfigurationError.self) {
      try KafkaSettings([ConfigurationPair(name: name, value: value)], embedded: [])
    }
    #expect(error?.message.hasPrefix("kafka.\(name) is ") == true)
    #expect(error?.description.contains("kafka.\(name) is \"\(value)\"; allowed: ") == true)
    #expect(error?.description.contains("because") == true)
  }

  @Test(arguments: ["bootstrap.servers", "client.id", "group.id", "group.instance.id", "transactional.id"])
  func `an empty name is refused`(name: String) {
    let others =
      name == "bootstrap.servers" ? [] : [ConfigurationPair(name: "bootstrap.servers", value: "a:1")]
    let error = #expect(throws: ConfigurationError.self) {
      try KafkaSettings(others + [ConfigurationPair(name: name, value: "")])
    }
    #expect(error?.message.hasPrefix("kafka.\(name) is ") == true)
    #expect(error?.description.contains("is empty") == true)
  }

  @Test func `a property that FeedStore owns may be set to the required value`() throws {
    #expect(try settings(["enable.auto.commit": "false"]).member(worker())["enable.auto.commit"] == "false")
    #expect(try settings(["acks": "all"]).producer["acks"] == "all")
  }
}
