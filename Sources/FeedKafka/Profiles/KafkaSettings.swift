package import Diagnostics
import Feed
package import Kafka
import OperatingSystem
package import Settings

/// The `kafka.*` section, converted to the configuration of each of FeedStore's clients.
///
/// The user's properties are passed unchanged to the clients that support them. Properties that FeedStore's guarantees
/// depend on cannot be changed. Its other choices are defaults.
package struct KafkaSettings: Sendable, Equatable {
  /// Whether a worker's clients collect statistics.
  package var isCounting = false
  /// The time for which a record of a transaction waits for others; useless if the commit follows directly.
  package var lingerMilliseconds = 0
  /// The address for the process's own producers of input, if it differs from the brokers'.
  package var inputServers: String?
  /// Receives the connection errors of all clients.
  package var connectionFaults = ConnectionFaults()
  /// Provides the tokens of all clients (`kafka.oauth.command`).
  package var tokens: TokenSource?
  private let properties: [ConfigurationPair]

  package static let defaultName = "feedstore"

  /// - Parameters:
  ///   - properties: the settings under `kafka.`.
  ///   - embedded: the properties of the embedded cluster; nil if there is none.
  ///   - mayEmbed: whether the command can start one.
  /// - Throws: ``ConfigurationError`` for a property that FeedStore owns, or without a broker's address.
  package init(
    _ properties: [ConfigurationPair],
    embedded: [ConfigurationPair]? = nil,
    mayEmbed: Bool = false
  ) throws(ConfigurationError) {
    for pair in properties { try Self.check(pair) }
    let servers = properties.last { Self.serverNames.contains($0.name) }
    if let servers, embedded != nil {
      throw ConfigurationError(
        """
        kafka.\(servers.name) is "\(servers.value)", but with --embedded the broker is in the process; \
        remove one of the two
        """
      )
    }
    if servers == nil, embedded == nil {
      let otherRemedy = mayEmbed ? ", or start one within the process with --embedded" : ""
      throw ConfigurationError(
        """
        kafka.bootstrap.servers is not set; name a broker, as in \
        --set kafka.bootstrap.servers=localhost:9092\(otherRemedy)
        """
      )
    }
    self.properties = (embedded ?? []) + properties
  }

  /// Whether properties have an address of brokers.
  package static func namesServers(_ properties: [ConfigurationPair]) -> Bool {
    properties.contains { serverNames.contains($0.name) }
  }

  // MARK: Consumers

  /// The configuration of the consumer that is a member of the group.
  ///
  /// - Parameters:
  ///   - identity: the worker's identity. If the user sets `group.instance.id`, each worker gets another.
  ///   - url: the URL to announce to other instances; empty for none.
  package func member(_ identity: WorkerIdentity, url: String = "") -> KafkaConfiguration {
    var configuration = configuration(for: .consumer)
    configuration["client.id"] = InstanceAddress.clientID(clientID, url: url)
    configuration["group.id"] = groupID
    configuration["auto.offset.reset"] = "earliest"
    if let instanceID = value("group.instance.id"), identity.count > 1 {
      configuration["group.instance.id"] = "\(instanceID)-\(identity.number)"
    }
    configuration.setDefaults([
      // The time after which the group removes a member that disappeared.
      "session.timeout.ms": "10000",
      // Members learn of a rebalance from a heartbeat response, and a rebalance waits for all members.
      "heartbeat.interval.ms": "300",
      // More than is applied during a commit. Bytes are the limit, not the number of records. librdkafka needs about as much
      // memory again for each record.
      "queued.max.messages.kbytes": "32768",
      "queued.min.messages": Self.anyNumberOfMessages,
    ])
    Self.noticeRoom(&configuration)
    Self.noticeSilence(&configuration)
    Self.noticeMoves(&configuration)
    // A JoinGroup request may wait at a coordinator for the maximum poll interval. Looking up the coordinator ends that
    // wait if it has moved.
    configuration.setDefaults(["coordinator.query.interval.ms": "\(Self.moveMilliseconds)"])
    count(&configuration)
    return configuration
  }

  /// The configuration of a consumer that reads partitions from their beginning, outside the group.
  package var reader: KafkaConfiguration {
    var configuration = configuration(for: .consumer)
    configuration["group.id"] = nil
    configuration["group.instance.id"] = nil
    configuration["auto.offset.reset"] = "earliest"
    Self.noticeSilence(&configuration)
    return configuration
  }

  /// The configuration of a client that queries the group without being a member.
  package var probe: KafkaConfiguration {
    var configuration = reader
    configuration["group.id"] = groupID
    return configuration
  }

  /// The configuration of a reader of many records in little time and bounded memory.
  ///
  /// One queue serves all partitions; each broker's pending response may come on top of it. In librdkafka 2.0.2, a
  /// broker thread that finds the queue full checks again after a second, or when it has other work. So it gets
  /// other work, and the queue holds about a second of reading.
  package var restorer: KafkaConfiguration {
    var configuration = reader
    configuration.setDefaults([
      // Bytes are the limit, not the number of records.
      "queued.max.messages.kbytes": "131072", "queued.min.messages": Self.anyNumberOfMessages,
    ])
    Self.noticeRoom(&configuration)
    // librdkafka rejects a consumer whose maximum response is smaller than a record.
    let recordBytes = configuration["message.max.bytes"].flatMap { Int($0) } ?? 0
    configuration.setDefaults(["fetch.max.bytes": "\(max(16_777_216, recordBytes))"])
    // Each broker has one pending fetch at a time, so the size of its response limits the throughput.
    if configuration["max.partition.fetch.bytes"] == nil {
      configuration.setDefaults(["fetch.message.max.bytes": "4194304"])
    }
    // The end of a partition is reported after the broker has had no new records for this long.
    configuration.setDefaults(["fetch.wait.max.ms": "50"])
    Self.noticeMoves(&configuration, everyMilliseconds: 100)
    return configuration
  }

  /// The configuration of a reader that follows during the whole process, and detects the end of a partition soon.
  package var follower: KafkaConfiguration {
    var configuration = reader
    configuration.setDefaults(["queued.max.messages.kbytes": "32768", "fetch.wait.max.ms": "100"])
    Self.noticeMoves(&configuration)
    return configuration
  }

  // MARK: Producers

  /// The configuration of a worker's transactional producer.
  ///
  /// It takes over the id of its predecessor, so that the predecessor's open transaction is aborted at once. A worker
  /// that lost its partitions is fenced by the group's generation, which every transaction includes. Two running
  /// workers must not share an id.
  ///
  /// - Parameters:
  ///   - identity: the worker's identity.
  ///   - slowInARow: the number of consecutive transactions that failed by their timeout.
  ///   - batchLimit: the maximum batch size.
  package func transactionalProducer(
    _ identity: WorkerIdentity,
    slowInARow: Int,
    _ batchLimit: BatchLimit = BatchLimit()
  ) -> KafkaConfiguration {
    var configuration = producer
    if let bytes = batchLimit.bytes { configuration["batch.size"] = String(bytes) }
    configuration["transactional.id"] = transactionalID(of: identity)
    let timeout = transactionMilliseconds(slowInARow: slowInARow)
    configuration["transaction.timeout.ms"] = String(timeout)
    // librdkafka rejects timeouts longer than the transaction's, and derives unset ones from it.
    for name in ["socket.timeout.ms", "message.timeout.ms", "delivery.timeout.ms"] {
      if let time = configuration[name].flatMap({ Int($0) }), time > timeout { configuration[name] = nil }
    }
    if configuration["queue.buffering.max.ms"] == nil {
      configuration.setDefaults(["linger.ms": "\(lingerMilliseconds)"])
    }
    configuration.setDefaults([
      // Brokers reject the next transaction until the markers of the previous one are written, usually within
      // milliseconds.
      "retry.backoff.ms": "20",
      // The size of the send queue. The rest of a transaction is written as the queue drains.
      "queue.buffering.max.kbytes": "131072",
    ])
    // If the group's coordinator was dropped, a call with offsets waits until any connection opens or closes (issue 5511).
    if Librdkafka.dropsBrokers { configuration.setDefaults(["connections.max.idle.ms": "10000"]) }
    count(&configuration)
    return configuration
  }

  package func transactionalID(of identity: WorkerIdentity) -> String {
    let name = value("group.instance.id") ?? identity.process.text
    return "\(value("transactional.id") ?? "\(groupID)-\(name)")-\(identity.number)"
  }

  /// The transaction timeout in milliseconds.
  ///
  /// - Parameter slowInARow: the number of consecutive transactions that failed by their timeout. Each doubles the next
  ///   timeout, unless the user has set it.
  package func transactionMilliseconds(slowInARow: Int) -> Int {
    number("transaction.timeout.ms") ?? Self.transactionMilliseconds[slowInARow]
  }

  /// The configuration of a producer without transactions.
  package var producer: KafkaConfiguration {
    var configuration = configuration(for: .producer)
    configuration["transactional.id"] = nil
    configuration["transaction.timeout.ms"] = nil
    // The topic limits the size of records. Rejected input may be as large as the limits allow.
    configuration.setDefaults(["message.max.bytes": "1000000000"])
    return configuration
  }

  /// The configuration of the producer for writes over HTTP, whose clients wait.
  package var writer: KafkaConfiguration {
    var configuration = producer
    configuration["delivery.report.only.error"] = "false"
    if let inputServers { configuration["bootstrap.servers"] = inputServers }
    if configuration["delivery.timeout.ms"] == nil {
      configuration.setDefaults(["message.timeout.ms": "10000"])
    }
    if configuration["queue.buffering.max.ms"] == nil { configuration.setDefaults(["linger.ms": "1"]) }
    return configuration
  }

  var compresses: Bool {
    ["compression.type", "compression.codec"].contains { value($0) ?? "none" != "none" }
  }

  // MARK: All clients

  /// Rejects unknown property names, and invalid values and combinations, without a broker.
  ///
  /// librdkafka checks combinations, and reads files, when it creates a client. So it creates one of each kind here.
  ///
  /// - Throws: ``ConfigurationError``.
  package func checkProperties() throws {
    let identity = WorkerIdentity(number: 0, count: 1, process: ProcessIdentity(text: "check"))
    do {
      try configuration(for: .consumer).check()
      try configuration(for: .producer).check()
      for consumer in [member(identity), reader, restorer, follower] {
        _ = try Consumer(configuration: Self.withoutServers(consumer), log: { _, _, _ in })
      }
      let transactional = Self.withoutServers(transactionalProducer(identity, slowInARow: 0))
      _ = try TransactionalProducer(configuration: transactional, log: { _, _, _ in })
    } catch {
      throw error.configurationOrDaemonError
    }
  }

  /// The configuration of a client that never connects.
  private static func withoutServers(_ configuration: KafkaConfiguration) -> KafkaConfiguration {
    var configuration = configuration
    for name in serverNames { configuration[name] = nil }
    configuration.tokens = nil
    return configuration
  }

  /// The configuration of a client that creates topics and reads their settings.
  package var admin: KafkaConfiguration { configuration(for: .both) }

  package var clientID: String { value("client.id") ?? Self.defaultName }

  /// The consumer group in which daemons share the input.
  package var groupID: String { value("group.id") ?? Self.defaultName }

  /// The maximum time between two polls of a group member, in milliseconds; librdkafka's default unless set.
  package var maxPollMilliseconds: Int64 { number("max.poll.interval.ms").map(Int64.init) ?? 300_000 }

  /// The maximum size of a producer's batch in bytes; librdkafka's default unless set.
  package var batchBytes: Int { number("batch.size") ?? 1_000_000 }

  /// Makes a consumer detect a silent broker soon.
  private static func noticeSilence(_ configuration: inout KafkaConfiguration) {
    // A response may take as long as the broker may wait for records.
    let wait = configuration["fetch.wait.max.ms"].flatMap { Int($0) } ?? 0
    configuration.setDefaults(["socket.timeout.ms": "\(max(10_000, wait + 5_000))"])
  }

  /// Makes a consumer resume fetching soon after its queue has room; by default it checks once a second.
  private static func noticeRoom(_ configuration: inout KafkaConfiguration) {
    if noticesRoom { configuration.setDefaults([roomProperty: "5"]) }
  }

  /// Whether librdkafka has the property for this, as of version 2.2.
  package static let noticesRoom = KafkaConfiguration.knows(roomProperty)
  private static let roomProperty = "fetch.queue.backoff.ms"

  /// Makes a consumer refresh its metadata: a broker that stopped leading a partition may not report it.
  private static func noticeMoves(
    _ configuration: inout KafkaConfiguration,
    everyMilliseconds interval: Int = moveMilliseconds
  ) {
    configuration.setDefaults([
      "topic.metadata.refresh.interval.ms": "\(interval)",
      // By default three times the interval, after which a topic counts as unknown.
      "metadata.max.age.ms": "900000",
    ])
  }

  private func count(_ configuration: inout KafkaConfiguration) {
    if isCounting { configuration.setDefaults(["statistics.interval.ms": "5000"]) }
  }

  private static let moveMilliseconds = 5_000
  /// The maximum that librdkafka accepts.
  private static let anyNumberOfMessages = "10000000"
  /// A killed worker's open transaction blocks readers for this long, unless the worker restarts, so the first timeout
  /// is short. Brokers may not allow more than the clients' default.
  private static let transactionMilliseconds = ExponentialBackoff(from: 10_000, to: 60_000)
  private static let serverNames = ["bootstrap.servers", "metadata.broker.list"]

  private func configuration(for scope: KafkaPropertyScope) -> KafkaConfiguration {
    let applicable = properties.lazy.filter { pair in
      let other = KafkaPropertyScope(of: pair.name)
      return other == .both || other == scope
    }
    var configuration = KafkaConfiguration(applicable.map { ($0.name, $0.value) })
    configuration.connectionFaults = connectionFaults
    configuration.tokens = tokens
    configuration.setDefaults([
      "client.id": Self.defaultName,
      // Limits the reconnect backoff, because an outage is long enough already.
      "reconnect.backoff.max.ms": "2000",
    ])
    return configuration
  }

  private func value(_ name: String) -> String? { properties.last { $0.name == name }?.value }

  private func number(_ name: String) -> Int? { value(name).flatMap { Int($0) } }

  /// Rejects an empty name, and a property that FeedStore owns unless it has the required value.
  private static func check(_ pair: ConfigurationPair) throws(ConfigurationError) {
    // An unset name has a default.
    let names = ["bootstrap.servers", "client.id", "group.id", "group.instance.id", "transactional.id"]
    guard !pair.value.isEmpty || !names.contains(pair.name) else {
      throw ConfigurationError("kafka.\(pair.name) is empty; give it a name, or remove it")
    }
    guard let owned = OwnedKafkaProperty.all[pair.name], !owned.allowed.contains(pair.value) else { return }
    let allowed = owned.allowed.map { "\"\($0)\"" }.joined(separator: " or ")
    throw ConfigurationError(
      "kafka.\(pair.name) is \"\(pair.value)\"; allowed: \(allowed), because \(owned.reason); remove it"
    )
  }
}

extension Log {
  /// Logs the lines of one librdkafka client.
  package var kafkaHandler: KafkaLogHandler {
    { level, facility, message in
      let (thread, message) = KafkaLogText.parts(of: message)
      self.write(
        Self.event(of: level, facility),
        message,
        thread.map { ["facility": facility, "thread": $0] } ?? ["facility": facility]
      )
    }
  }

  static func event(of level: KafkaLogLevel, _ facility: String) -> LogEvent {
    switch level {
    // Logged in our own words.
    case .error where facility == ConnectionFaults.facility: .kafkaClientConnectionRefused
    case .error where facility == TokenSource.facility: .kafkaTokenFailed
    // A transaction must be aborted, for example by a rebalance. Fatal errors have a higher severity.
    case .error where facility == "TXNERR": .kafkaClientWarning
    case .emergency, .alert, .critical, .error: .kafkaClientError
    case .warning where facility == SharedIDs.facility: .inputFeedInSeveralPartitions
    case .warning: .kafkaClientWarning
    // librdkafka's notices help only in diagnosing librdkafka.
    case .notice, .info, .debug: .kafkaClientDebug
    }
  }
}
