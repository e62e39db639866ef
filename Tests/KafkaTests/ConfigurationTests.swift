import Kafka
import Testing

struct ConfigurationTests {
  @Test func `an unknown property is named, without its value, which may be a secret`() throws {
    let error = #expect(throws: KafkaError.self) {
      try Consumer(configuration: ["no.such.property": "hunter2"], log: Fixture.log)
    }
    #expect(error?.code == "_INVALID_ARG")
    #expect(error?.message.contains("no.such.property") == true)
    #expect(error?.message.contains("hunter2") == false)
    #expect(error?.isRetriable == false)
  }

  @Test func `one can ask whether a property exists`() {
    #expect(KafkaConfiguration.knows("queued.min.messages"))
    #expect(!KafkaConfiguration.knows("queued.least.messages"))
    // A topic property.
    #expect(KafkaConfiguration.knows("acks"))
    #expect(!KafkaConfiguration.isMasked("acks") && KafkaConfiguration.isMasked("sasl.username"))
  }

  @Test(arguments: [("acks", "some"), ("max.in.flight.requests.per.connection", "6")])
  func `an invalid value or combination is named with its property`(name: String, value: String) throws {
    let error = #expect(throws: KafkaError.self) {
      try Producer(configuration: [name: value], log: Fixture.log)
    }
    #expect(error?.message.contains(name.prefix(13)) == true)
  }

  @Test(arguments: [
    "sasl.pasword.password", "ssl.key.pem", "ssl.keystore.location", "security.protocol.token",
  ])
  func `a secret is not shown`(name: String) throws {
    #expect(KafkaConfiguration.isMasked(name))
    let error = #expect(throws: KafkaError.self) {
      // librdkafka accepts any text for the key files; the other property fails.
      try Producer(configuration: [name: "hunter2", "no.such.property": "hunter2"], log: Fixture.log)
    }
    #expect(error?.message.contains("hunter2") == false)
  }

  @Test(arguments: [
    ("enable.auto.commit", "true"),
    ("enable.auto.offset.store", "true"),
    ("enable.partition.eof", "false"),
    ("partition.assignment.strategy", "range"),
  ])
  func `a consumer refuses values that it cannot work with`(name: String, value: String) throws {
    let error = #expect(throws: KafkaError.self) {
      try Consumer(configuration: KafkaConfiguration([(name, value)]), log: Fixture.log)
    }
    #expect(error?.message.contains("\(name) = \"\(value)\"") == true)
  }

  @Test func `producers require the right transactional id`() throws {
    #expect(throws: KafkaError.self) { try TransactionalProducer(configuration: [:], log: Fixture.log) }
    #expect(throws: KafkaError.self) {
      try Producer(configuration: ["transactional.id": "mine"], log: Fixture.log)
    }
  }

  /// Programs that use `FeedClient` choose by it what they log, as examples/swift-follower does.
  @Test func `levels of log lines are compared by their severity`() {
    #expect(KafkaLogLevel.error < .warning && KafkaLogLevel.warning <= .warning)
    #expect([KafkaLogLevel.debug, .emergency, .info].min() == .emergency)
  }

  @Test func `setting a property again replaces its value and keeps its place`() {
    var configuration: KafkaConfiguration = ["a": "1", "b": "2", "a": "3"]
    #expect(configuration.properties.map(\.name) == ["a", "b"])
    #expect(configuration["a"] == "3")
    configuration["a"] = nil
    #expect(configuration.properties.map(\.value) == ["2"])
  }
}
