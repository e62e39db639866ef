import Kafka
import Service
import Testing

@testable import FeedPipeline

struct KafkaSettingsTests {
  private func settings(_ properties: KeyValuePairs<String, String>) throws -> KafkaSettings {
    let pairs = properties.map { ConfigurationPair(name: $0, value: $1) }
    return try KafkaSettings([ConfigurationPair(name: "bootstrap.servers", value: "host:9092")] + pairs)
  }

  @Test func `a broker's address must be there`() {
    let error = #expect(throws: ConfigurationError.self) { try KafkaSettings([]) }
    #expect(error?.description.contains("kafka.bootstrap.servers") == true)
    #expect(error?.description.contains("--embedded") == true)
  }

  @Test func `a broker's address does not go with the embedded broker`() {
    let pairs = [ConfigurationPair(name: "bootstrap.servers", value: "host:9092")]
    let error = #expect(throws: ConfigurationError.self) { try KafkaSettings(pairs, embedded: []) }
    #expect(error?.description.contains("host:9092") == true)
  }

  @Test func `defaults are ours where the user says nothing`() throws {
    let settings = try settings([:])
    #expect(settings.groupID == "feedstore")
    #expect(settings.member["group.id"] == "feedstore")
    #expect(settings.member["auto.offset.reset"] == "earliest")
    #expect(settings.member["client.id"] == "feedstore")
    #expect(settings.member["transactional.id"] == nil)
    #expect(settings.reader["group.id"] == nil)
    #expect(settings.producer["transactional.id"] == nil)
    let producer = settings.transactionalProducer(worker: 2, host: "machine", process: 71)
    #expect(producer["transactional.id"] == "feedstore-machine-71-2")
  }

  @Test func `what the user says goes to the clients that it is for`() throws {
    let settings = try settings([
      "group.id": "mine", "linger.ms": "20", "max.poll.interval.ms": "60000", "security.protocol": "ssl",
      "auto.offset.reset": "smallest", "transactional.id": "line", "client.id": "me",
    ])
    let producer = settings.transactionalProducer(worker: 0, host: "machine", process: 71)
    #expect(settings.groupID == "mine")
    #expect(settings.member["group.id"] == "mine")
    #expect(settings.member["auto.offset.reset"] == "earliest")
    #expect(settings.member["max.poll.interval.ms"] == "60000")
    #expect(settings.member["linger.ms"] == nil)
    #expect(settings.reader["auto.offset.reset"] == "earliest")
    #expect(producer["linger.ms"] == "20")
    #expect(producer["max.poll.interval.ms"] == nil)
    #expect(producer["group.id"] == nil)
    #expect(producer["transactional.id"] == "line-0")
    for configuration in [settings.member, settings.reader, settings.producer, producer] {
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
  func `what exactly once rests on is refused with the reason`(name: String, value: String) {
    let error = #expect(throws: ConfigurationError.self) {
      try KafkaSettings([ConfigurationPair(name: name, value: value)], embedded: [])
    }
    #expect(error?.key == "kafka." + name)
    #expect(error?.description.contains("kafka.\(name) is \"\(value)\"; allowed: ") == true)
    #expect(error?.description.contains("because") == true)
  }

  @Test func `a property that FeedStore owns may be set to what it is`() throws {
    #expect(try settings(["enable.auto.commit": "false"]).member["enable.auto.commit"] == "false")
    #expect(try settings(["acks": "all"]).producer["acks"] == "all")
  }
}
