import Feed
package import Kafka
package import Service

/// The `kafka.*` section, converted to the configuration of each of FeedStore's clients.
///
/// The user's properties are passed unchanged to the clients that support them. Properties that FeedStore's guarantees
/// depend on cannot be changed. Its other choices are defaults.
package struct KafkaSettings: Sendable, Equatable {
  /// The consumer group in which daemons share the input.
  package let groupID: String
  /// Whether a worker's clients collect statistics.
  package var isCounting = false
  /// Receives the connection errors of all clients.
  package var connectionFaults = ConnectionFaults()
  private let properties: [ConfigurationPair]
  private let transactionalID: String?
  private let instanceID: String?
  private let transactionMilliseconds: Int?

  /// The default name of the group and the client.
  static let defaultName = "feedstore"

  /// Settings for an existing cluster.
  ///
  /// - Parameter properties: the settings under `kafka.`.
  /// - Throws: ``ConfigurationError`` for a property that FeedStore owns, or without a broker's address.
  package init(_ properties: [ConfigurationPair]) throws(ConfigurationError) {
    try self.init(properties, embedded: nil, otherRemedy: "")
  }

  /// Settings for an existing or an embedded cluster.
  ///
  /// - Parameters:
  ///   - properties: the settings under `kafka.`.
  ///   - embedded: the properties of the embedded cluster; nil if there is none.
  /// - Throws: ``ConfigurationError`` for a property that FeedStore owns, or without a broker's address.
  package init(_ properties: [ConfigurationPair], embedded: [ConfigurationPair]?) throws(ConfigurationError) {
    try self.init(
      properties,
      embedded: embedded,
      otherRemedy: ", or start one within the process with --embedded"
    )
  }

  private init(
    _ properties: [ConfigurationPair],
    embedded: [ConfigurationPair]?,
    otherRemedy: String
  ) throws(ConfigurationError) {
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
        --set kafka.bootstrap.servers=localhost:9092\(otherRemedy)
        """,
        key: "kafka.bootstrap.servers"
      )
    case (nil, _?):
      self.properties = properties
    }
    groupID = Self.value("group.id", properties) ?? Self.defaultName
    transactionalID = Self.value("transactional.id", properties)
    instanceID = Self.value("group.instance.id", properties)
    transactionMilliseconds = Self.value("transaction.timeout.ms", properties).flatMap { Int($0) }
  }

  /// Whether properties have an address of brokers.
  package static func namesServers(_ properties: [ConfigurationPair]) -> Bool {
    properties.contains { serverNames.contains($0.name) }
  }

  /// The configuration of the consumer that is a member of the group.
  ///
  /// - Parameters:
  ///   - identity: the worker's. If the user sets `group.instance.id`, each worker gets its own.
  ///   - url: the URL to announce to other instances; empty for none.
  package func member(_ identity: WorkerIdentity, url: String = "") -> KafkaConfiguration {
    var configuration = configuration(for: .consumer)
    configuration["client.id"] = InstanceAddress.clientID(clientID, url: url)
    configuration["group.id"] = groupID
    configuration["auto.offset.reset"] = "earliest"
    if let instanceID, identity.count > 1 {
      configuration["group.instance.id"] = "\(instanceID)-\(identity.number)"
    }
    configuration.setIfMissing("session.timeout.ms", String(Self.sessionMilliseconds))
    // Members learn of a rebalance from a heartbeat response, and a rebalance waits for all members.
    configuration.setIfMissing("heartbeat.interval.ms", String(Self.heartbeatMilliseconds))
    // Bytes are the limit, not the number of records. librdkafka needs about as much memory again for each record.
    configuration.setIfMissing("queued.max.messages.kbytes", String(Self.inputKilobytes))
    configuration.setIfMissing("queued.min.messages", Self.anyNumberOfMessages)
    Self.noticeRoom(&configuration)
    Self.noticeSilence(&configuration)
    Self.noticeMoves(&configuration)
    // A JoinGroup request may wait at a coordinator for the maximum poll interval. Looking up the coordinator ends that
    // wait if it has moved.
    configuration.setIfMissing("coordinator.query.interval.ms", String(Self.moveMilliseconds))
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

  /// The configuration of a client that asks about the group and is no member of it.
  package var witness: KafkaConfiguration {
    var configuration = reader
    configuration["group.id"] = groupID
    return configuration
  }

  /// The configuration of a reader that must read much in little time and bounded memory.
  ///
  /// One queue serves all partitions; each broker's pending response may come on top of it. In librdkafka 2.0.2, a
  /// broker thread that finds the queue full checks again after a second, or when it has other work. So it is given
  /// other work, and the queue holds about a second of reading.
  package var restorer: KafkaConfiguration {
    var configuration = reader
    configuration.setIfMissing("queued.max.messages.kbytes", "131072")
    // Bytes are the limit, not the number of records.
    configuration.setIfMissing("queued.min.messages", Self.anyNumberOfMessages)
    Self.noticeRoom(&configuration)
    // librdkafka rejects a consumer whose maximum response is smaller than a record.
    let recordBytes = configuration["message.max.bytes"].flatMap { Int($0) } ?? 0
    configuration.setIfMissing("fetch.max.bytes", String(max(16_777_216, recordBytes)))
    // Each broker has one pending fetch at a time, so the size of its response limits the throughput.
    if configuration["max.partition.fetch.bytes"] == nil {
      configuration.setIfMissing("fetch.message.max.bytes", "4194304")
    }
    // The end of a partition is reported after the broker has had nothing new for this long.
    configuration.setIfMissing("fetch.wait.max.ms", "50")
    Self.noticeMoves(&configuration, everyMilliseconds: 100)
    return configuration
  }

  /// The configuration of a reader that follows for as long as the process lives, and learns of the end of a partition
  /// soon.
  package var follower: KafkaConfiguration {
    var configuration = reader
    configuration.setIfMissing("queued.max.messages.kbytes", "32768")
    configuration.setIfMissing("fetch.wait.max.ms", "100")
    Self.noticeMoves(&configuration)
    return configuration
  }

  /// The configuration of a worker's transactional producer.
  ///
  /// It takes over the id of its predecessor, so that a transaction which that one left open is aborted at once. A
  /// worker that lost its partitions is fenced by the group's generation, which every transaction includes. Two running
  /// workers must not share an id.
  ///
  /// - Parameters:
  ///   - identity: the worker's.
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
    for name in Self.timesWithinTransaction {
      if let time = configuration[name].flatMap({ Int($0) }), time > timeout { configuration[name] = nil }
    }
    // The transaction is committed right after the writes, so there is nothing to linger for.
    if configuration["queue.buffering.max.ms"] == nil { configuration.setIfMissing("linger.ms", "0") }
    // Brokers reject the next transaction until the markers of the previous one are written, usually within
    // milliseconds.
    configuration.setIfMissing("retry.backoff.ms", String(Self.retryMilliseconds))
    configuration.setIfMissing("queue.buffering.max.kbytes", String(Self.queueKilobytes))
    count(&configuration)
    return configuration
  }

  /// The `transactional.id` of a worker.
  package func transactionalID(of identity: WorkerIdentity) -> String {
    let prefix =
      transactionalID ?? instanceID.map { "\(groupID)-\($0)" } ?? "\(groupID)-\(identity.process.text)"
    return "\(prefix)-\(identity.number)"
  }

  /// The transaction timeout in milliseconds.
  ///
  /// - Parameter slowInARow: the number of consecutive transactions that failed by their timeout. Each doubles the next
  ///   timeout, unless the user has set it.
  package func transactionMilliseconds(slowInARow: Int) -> Int {
    transactionMilliseconds ?? Self.transactionMilliseconds[slowInARow]
  }

  /// The configuration of a producer without transactions.
  package var producer: KafkaConfiguration {
    var configuration = configuration(for: .producer)
    configuration["transactional.id"] = nil
    configuration["transaction.timeout.ms"] = nil
    // The topic limits the size of records. Rejected input may be as large as the limits allow.
    configuration.setIfMissing("message.max.bytes", String(Self.greatestMessageBytes))
    return configuration
  }

  /// Whether records are compressed.
  var compresses: Bool {
    ["compression.type", "compression.codec"].contains { Self.value($0, properties) ?? "none" != "none" }
  }

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

  /// The configuration of a client that connects to nothing.
  private static func withoutServers(_ configuration: KafkaConfiguration) -> KafkaConfiguration {
    var configuration = configuration
    for name in serverNames { configuration[name] = nil }
    return configuration
  }

  /// The configuration of a client that creates topics and reads their settings.
  package var admin: KafkaConfiguration { configuration(for: .both) }

  /// The client id.
  package var clientID: String { Self.value("client.id", properties) ?? Self.defaultName }

  /// The maximum time between two polls of a group member, in milliseconds.
  package var maxPollMilliseconds: Int64 {
    Self.value("max.poll.interval.ms", properties).flatMap { Int64($0) } ?? Self.maxPollMilliseconds
  }

  /// The maximum size of a producer's batch in bytes; librdkafka's default unless set.
  package var batchBytes: Int { Self.value("batch.size", properties).flatMap { Int($0) } ?? 1_000_000 }

  /// Makes a consumer detect a silent broker soon.
  private static func noticeSilence(_ configuration: inout KafkaConfiguration) {
    // A response may take as long as the broker may wait for records.
    let wait = configuration["fetch.wait.max.ms"].flatMap { Int($0) } ?? 0
    configuration.setIfMissing(
      "socket.timeout.ms",
      String(max(silenceMilliseconds, wait + silenceMilliseconds / 2))
    )
  }

  /// Makes a consumer resume fetching soon after its queue has room; by default it checks once a second.
  private static func noticeRoom(_ configuration: inout KafkaConfiguration) {
    if noticesRoom { configuration.setIfMissing(roomProperty, String(roomMilliseconds)) }
  }

  /// Whether librdkafka has the property for that, as of version 2.2.
  package static let noticesRoom = KafkaConfiguration.knows(roomProperty)
  private static let roomProperty = "fetch.queue.backoff.ms"
  private static let roomMilliseconds = 5

  /// Makes a consumer refresh its metadata regularly: a broker that stopped leading a partition may not say so.
  private static func noticeMoves(
    _ configuration: inout KafkaConfiguration,
    everyMilliseconds interval: Int = moveMilliseconds
  ) {
    configuration.setIfMissing("topic.metadata.refresh.interval.ms", String(interval))
    // By default three times the interval, after which a topic counts as unknown.
    configuration.setIfMissing("metadata.max.age.ms", "900000")
  }

  /// The prefetch size: more than is applied during a commit.
  private static let inputKilobytes = 32_768
  private func count(_ configuration: inout KafkaConfiguration) {
    if isCounting { configuration.setIfMissing("statistics.interval.ms", String(Self.countingMilliseconds)) }
  }

  private static let countingMilliseconds = 5_000
  private static let silenceMilliseconds = 10_000
  /// librdkafka's default.
  private static let maxPollMilliseconds: Int64 = 300_000
  private static let moveMilliseconds = 5_000
  /// The maximum that librdkafka accepts.
  private static let anyNumberOfMessages = "10000000"
  private static let reconnectMilliseconds = 2_000
  private static let greatestMessageBytes = 1_000_000_000
  /// How long the group waits for a member that disappeared.
  private static let sessionMilliseconds = 10_000
  private static let heartbeatMilliseconds = 300
  /// A killed worker's open transaction blocks readers for this long, unless the worker restarts, so the first timeout
  /// is short. Brokers may not allow more than the clients' default.
  private static let transactionMilliseconds = ExponentialBackoff(from: 10_000, to: 60_000)
  private static let timesWithinTransaction = [
    "socket.timeout.ms", "message.timeout.ms", "delivery.timeout.ms",
  ]
  private static let retryMilliseconds = 20
  /// The size of the send queue. The rest of a transaction is written as the queue drains.
  private static let queueKilobytes = 131_072
  /// An unset name has a default. An empty name is an error.
  private static let names = [
    "bootstrap.servers", "client.id", "group.id", "group.instance.id", "transactional.id",
  ]
  private static let serverNames = ["bootstrap.servers", "metadata.broker.list"]

  private func configuration(for scope: KafkaPropertyScope) -> KafkaConfiguration {
    let applicable = properties.lazy.filter { pair in
      let other = KafkaPropertyScope(of: pair.name)
      return other == .both || other == scope
    }
    var configuration = KafkaConfiguration(applicable.map { ($0.name, $0.value) })
    configuration.connectionFaults = connectionFaults
    configuration.setIfMissing("client.id", Self.defaultName)
    // Limits the reconnect backoff, as an outage is long enough already.
    configuration.setIfMissing("reconnect.backoff.max.ms", String(Self.reconnectMilliseconds))
    return configuration
  }

  private static func value(_ name: String, _ properties: [ConfigurationPair]) -> String? {
    properties.last { $0.name == name }?.value
  }

  /// Rejects an empty name, and a property that FeedStore owns unless it has the required value.
  private static func check(_ pair: ConfigurationPair) throws(ConfigurationError) {
    guard !pair.value.isEmpty || !names.contains(pair.name) else {
      throw ConfigurationError(
        .outOfRange,
        "kafka.\(pair.name) is empty; give it a name, or remove it",
        key: "kafka." + pair.name,
        value: pair.value.debugDescription
      )
    }
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
