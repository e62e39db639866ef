import Kafka
import Settings
import Spelling

/// Environment variables that set keys: `FEEDSTORE_COALESCE_IDLE_WINDOW` sets `coalesce.idleWindow`, and
/// `FEEDSTORE_KAFKA_GROUP_ID` sets `kafka.group.id`.
package enum ConfigurationVariables {
  static let prefix = "FEEDSTORE_"

  /// A variable that sets no key.
  package struct Unknown: Sendable, Equatable, CustomStringConvertible {
    package let name: String
    package let description: String
  }

  package static func name(of key: String) -> String {
    var name = prefix
    var last: Character = "."
    for character in key {
      if character.isUppercase, last.isLowercase || last.isNumber { name += "_" }
      name += character == "." ? "_" : character.uppercased()
      last = character
    }
    return name
  }

  /// Sets the keys whose variables are not empty.
  ///
  /// - Returns: the variables with the prefix that set no key, sorted by name.
  static func apply(_ environment: [String: String], to document: inout ConfigurationDocument) -> [Unknown] {
    let keysByName = Dictionary(uniqueKeysWithValues: FeedStoreConfiguration.keys.map { (name(of: $0), $0) })
    let section = name(of: "kafka.")
    var unknown: [Unknown] = []
    for (name, value) in environment.sorted(by: { $0.key < $1.key })
    where name.hasPrefix(prefix) && !value.isEmpty {
      let property = name.dropFirst(section.count).lowercased().replacing("_", with: ".")
      if let key = keysByName[name] {
        document.set(key, toText: value, from: .environment(name))
      } else if reservedNames.contains(where: name.dropFirst(prefix.count).hasPrefix) {
        continue
      } else if name.hasPrefix(section), KafkaConfiguration.knows(property) {
        document.set("kafka.\(property)", toText: value, from: .environment(name))
      } else {
        let names = keysByName.keys + properties.map { self.name(of: "kafka.\($0)") }
        let suggestion = NearestName.suggestion(for: name, among: names)
        let hint = suggestion.map { "did you mean \($0)?" } ?? "remove it, or correct its name"
        let text = "the environment variable \(name) sets nothing; \(hint)"
        unknown.append(Unknown(name: name, description: text))
      }
    }
    return unknown
  }

  /// Common librdkafka properties, to suggest one for a misspelt variable. librdkafka has more.
  private static let properties = [
    "bootstrap.servers", "broker.address.family", "client.id", "client.rack", "compression.type",
    "fetch.max.bytes", "fetch.wait.max.ms", "group.id", "group.instance.id", "heartbeat.interval.ms",
    "linger.ms", "max.poll.interval.ms", "message.max.bytes", "queue.buffering.max.kbytes",
    "queued.max.messages.kbytes", "reconnect.backoff.max.ms", "sasl.mechanisms", "sasl.password",
    "sasl.username", "security.protocol", "session.timeout.ms", "socket.timeout.ms", "ssl.ca.location",
    "ssl.certificate.location", "ssl.key.location", "ssl.key.password", "ssl.keystore.location",
    "ssl.keystore.password", "statistics.interval.ms", "topic.metadata.refresh.interval.ms",
    "transaction.timeout.ms", "transactional.id",
  ]

  /// Used by builds and tests, and set by Kubernetes in pods beside a Service named feedstore.
  static let reservedNames = [
    "TEST_", "COMMIT", "CRASH_AT", "SEED", "DATA", "UPDATE_GOLDEN", "UPGRADE_FROM", "WRITE_CONFORMANCE",
    "FUZZ_", "SOAK_", "BENCHMARK_", "SERVICE_HOST", "SERVICE_PORT", "PORT",
  ]
}
