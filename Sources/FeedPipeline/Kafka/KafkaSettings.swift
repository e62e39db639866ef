import Kafka
import Service

/// The `kafka.*` section, turned into what each of FeedStore's clients is made with.
///
/// What the user sets is passed on as it is, to the clients that it is for. What FeedStore's guarantees rest
/// on cannot be set to anything else; what it would merely have otherwise is a default.
struct KafkaSettings: Sendable, Equatable {
  /// The group in which daemons share the input.
  let groupID: String
  private let properties: [ConfigurationPair]
  private let transactionalID: String?

  /// Names a group and a client where the configuration does not.
  static let defaultName = "feedstore"

  /// - Parameters:
  ///   - properties: the settings under `kafka.`.
  ///   - embedded: the settings of the embedded cluster, if there is one.
  /// - Throws: ``ConfigurationError`` for a property that FeedStore owns, or without a broker's address.
  init(_ properties: [ConfigurationPair], embedded: [ConfigurationPair]? = nil) throws(ConfigurationError) {
    for pair in properties { try Self.check(pair) }
    let servers = properties.last { Self.serverNames.contains($0.name) }
    switch (embedded, servers) {
    case (let embedded?, nil):
      self.properties = embedded + properties
    case (_?, let servers?):
      throw ConfigurationError(
        .conflict,
        """
        kafka.\(servers.name) is "\(servers.value)", but with --embedded the broker is in the process; \
        remove one of the two
        """,
        key: "kafka." + servers.name,
        value: servers.value.debugDescription
      )
    case (nil, nil):
      throw ConfigurationError(
        .conflict,
        """
        kafka.bootstrap.servers is not set; name a broker, as in \
        --set kafka.bootstrap.servers=localhost:9092, or start one within the process with --embedded
        """,
        key: "kafka.bootstrap.servers"
      )
    case (nil, _?):
      self.properties = properties
    }
    groupID = Self.value("group.id", properties) ?? Self.defaultName
    transactionalID = Self.value("transactional.id", properties)
  }

  /// For the consumer that shares the input with the group.
  var member: KafkaConfiguration {
    var configuration = configuration(for: .consumer)
    configuration["group.id"] = groupID
    configuration["auto.offset.reset"] = "earliest"
    return configuration
  }

  /// For a consumer that reads partitions by itself, from their beginning.
  var reader: KafkaConfiguration {
    var configuration = configuration(for: .consumer)
    configuration["group.id"] = nil
    configuration["group.instance.id"] = nil
    configuration["auto.offset.reset"] = "earliest"
    return configuration
  }

  /// For a worker's transactional producer.
  ///
  /// The id is of one process: what shuts out a worker that lost its partitions is the group's generation,
  /// which goes into every transaction, and two daemons of one machine must not shut each other out.
  ///
  /// - Parameters:
  ///   - worker: the number of the worker in this process.
  ///   - host: the machine's name.
  ///   - process: the process's id.
  func transactionalProducer(worker: Int, host: String, process: Int32) -> KafkaConfiguration {
    var configuration = producer
    let prefix = transactionalID ?? "\(groupID)-\(host)-\(process)"
    configuration["transactional.id"] = "\(prefix)-\(worker)"
    return configuration
  }

  /// For a producer without transactions.
  var producer: KafkaConfiguration {
    var configuration = configuration(for: .producer)
    configuration["transactional.id"] = nil
    configuration["transaction.timeout.ms"] = nil
    // How large a record may be, the topic says; input that is rejected may be as large as the limits allow.
    configuration.setIfMissing("message.max.bytes", String(Self.greatestMessageBytes))
    return configuration
  }

  /// For a client that creates topics and reads their settings.
  var admin: KafkaConfiguration { configuration(for: .both) }

  /// How many bytes a producer puts into one batch at most; librdkafka's default where nothing is said.
  var batchBytes: Int { Self.value("batch.size", properties).flatMap { Int($0) } ?? 1_000_000 }

  private static let greatestMessageBytes = 1_000_000_000
  private static let serverNames = ["bootstrap.servers", "metadata.broker.list"]

  private func configuration(for scope: KafkaPropertyScope) -> KafkaConfiguration {
    let applicable = properties.lazy.filter { pair in
      let other = KafkaPropertyScope(of: pair.name)
      return other == .both || other == scope
    }
    var configuration = KafkaConfiguration(applicable.map { ($0.name, $0.value) })
    configuration.setIfMissing("client.id", Self.defaultName)
    return configuration
  }

  private static func value(_ name: String, _ properties: [ConfigurationPair]) -> String? {
    properties.last { $0.name == name }?.value
  }

  /// Refuses a property that FeedStore owns, unless it has the one value that works.
  private static func check(_ pair: ConfigurationPair) throws(ConfigurationError) {
    guard let owned = OwnedKafkaProperty.all.first(where: { $0.name == pair.name }) else { return }
    guard !owned.allowed.contains(pair.value) else { return }
    let allowed = owned.allowed.map { "\"\($0)\"" }.joined(separator: " or ")
    throw ConfigurationError(
      .conflict,
      "kafka.\(pair.name) is \"\(pair.value)\"; allowed: \(allowed), because \(owned.reason); remove it",
      key: "kafka." + pair.name,
      value: pair.value.debugDescription,
      allowed: allowed
    )
  }
}

extension KafkaConfiguration {
  fileprivate mutating func setIfMissing(_ name: String, _ value: String) {
    if self[name] == nil { self[name] = value }
  }
}
