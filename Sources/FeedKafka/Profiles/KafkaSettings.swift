package import Kafka
package import Service

/// The `kafka.*` section, turned into what each of FeedStore's clients is made with.
///
/// What the user sets is passed on as it is, to the clients that it is for. What FeedStore's guarantees rest
/// on cannot be set to anything else; what it would merely have otherwise is a default.
package struct KafkaSettings: Sendable, Equatable {
  /// The group in which daemons share the input.
  package let groupID: String
  /// Whether a worker's clients count what they do.
  package var isCounting = false
  /// Told by all clients why brokers cannot be connected to.
  package var connectionFaults = ConnectionFaults()
  private let properties: [ConfigurationPair]
  private let transactionalID: String?
  private let instanceID: String?
  private let transactionMilliseconds: Int?

  /// Names a group and a client where the configuration does not.
  static let defaultName = "feedstore"

  /// For what needs a cluster that is there.
  ///
  /// - Parameter properties: the settings under `kafka.`.
  /// - Throws: ``ConfigurationError`` for a property that FeedStore owns, or without a broker's address.
  package init(_ properties: [ConfigurationPair]) throws(ConfigurationError) {
    try self.init(properties, embedded: nil, otherRemedy: "")
  }

  /// For what can bring a cluster along.
  ///
  /// - Parameters:
  ///   - properties: the settings under `kafka.`.
  ///   - embedded: the settings of the embedded cluster, if there is one.
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

  /// For the consumer that shares the input with the group.
  ///
  /// - Parameters:
  ///   - identity: the worker's; each has an instance of its own where the user names one.
  ///   - url: where other instances are to find this one; empty if they are not.
  package func member(_ identity: WorkerIdentity, url: String = "") -> KafkaConfiguration {
    var configuration = configuration(for: .consumer)
    configuration["client.id"] = InstanceAddress.clientID(clientID, url: url)
    configuration["group.id"] = groupID
    configuration["auto.offset.reset"] = "earliest"
    if let instanceID, identity.count > 1 {
      configuration["group.instance.id"] = "\(instanceID)-\(identity.number)"
    }
    configuration.setIfMissing("session.timeout.ms", String(Self.sessionMilliseconds))
    // A member hears of a rebalance with the answer to a heartbeat, and what moves waits for all members.
    configuration.setIfMissing("heartbeat.interval.ms", String(Self.heartbeatMilliseconds))
    // Bytes are the bound, not the number of records. librdkafka needs about as much memory again for each record.
    configuration.setIfMissing("queued.max.messages.kbytes", String(Self.inputKilobytes))
    configuration.setIfMissing("queued.min.messages", Self.anyNumberOfMessages)
    Self.noticeRoom(&configuration)
    Self.noticeSilence(&configuration)
    Self.noticeMoves(&configuration)
    // A request to join waits at a coordinator for as long as a poll may take; that another broker has become
    // coordinator ends that.
    configuration.setIfMissing("coordinator.query.interval.ms", String(Self.moveMilliseconds))
    count(&configuration)
    return configuration
  }

  /// For a consumer that reads partitions by itself, from their beginning.
  package var reader: KafkaConfiguration {
    var configuration = configuration(for: .consumer)
    configuration["group.id"] = nil
    configuration["group.instance.id"] = nil
    configuration["auto.offset.reset"] = "earliest"
    Self.noticeSilence(&configuration)
    return configuration
  }

  /// For a reader that is to read much in little time and bounded memory.
  ///
  /// Its queue is one for all partitions. What may come on top of it is the answer of each broker that was
  /// under way. A broker's thread of librdkafka 2.0.2 that finds the queue full looks again after a second, or
  /// when it has something else to do: so it is given something, and the queue holds what a second works on.
  package var restorer: KafkaConfiguration {
    var configuration = reader
    configuration.setIfMissing("queued.max.messages.kbytes", "131072")
    // Bytes are the bound, not the number of records.
    configuration.setIfMissing("queued.min.messages", Self.anyNumberOfMessages)
    Self.noticeRoom(&configuration)
    // librdkafka does not make a consumer for which an answer may be less than a record.
    let recordBytes = configuration["message.max.bytes"].flatMap { Int($0) } ?? 0
    configuration.setIfMissing("fetch.max.bytes", String(max(16_777_216, recordBytes)))
    // One request at a time is under way to a broker, so what it may bring of a partition bounds the rate.
    if configuration["max.partition.fetch.bytes"] == nil {
      configuration.setIfMissing("fetch.message.max.bytes", "4194304")
    }
    // The end of a partition is told when the broker has had nothing to add for so long.
    configuration.setIfMissing("fetch.wait.max.ms", "50")
    Self.noticeMoves(&configuration, everyMilliseconds: 100)
    return configuration
  }

  /// For a reader that follows as long as the process lives, and is told soon where a partition ends.
  package var follower: KafkaConfiguration {
    var configuration = reader
    configuration.setIfMissing("queued.max.messages.kbytes", "32768")
    configuration.setIfMissing("fetch.wait.max.ms", "100")
    Self.noticeMoves(&configuration)
    return configuration
  }

  /// For a worker's transactional producer.
  ///
  /// Its id is that of the worker before it in the same place, so that a transaction that one left open ends at
  /// once. What shuts out a worker that lost its partitions is the group's generation, which goes into every
  /// transaction; two workers that run at the same time must not have one id.
  ///
  /// - Parameters:
  ///   - identity: the worker's.
  ///   - slowInARow: transactions in a row that failed as they took the time they had.
  ///   - batchLimit: how large batches may be.
  package func transactionalProducer(
    _ identity: WorkerIdentity,
    slowInARow: Int,
    _ batchLimit: BatchLimit = BatchLimit()
  ) -> KafkaConfiguration {
    var configuration = producer
    if let bytes = batchLimit.bytes { configuration["batch.size"] = String(bytes) }
    let prefix =
      transactionalID ?? instanceID.map { "\(groupID)-\($0)" } ?? "\(groupID)-\(identity.process.text)"
    configuration["transactional.id"] = "\(prefix)-\(identity.number)"
    let timeout = transactionMilliseconds(slowInARow: slowInARow)
    configuration["transaction.timeout.ms"] = String(timeout)
    // librdkafka refuses what outlasts a transaction, and derives from its time what is not set.
    for name in Self.timesWithinTransaction {
      if let time = configuration[name].flatMap({ Int($0) }), time > timeout { configuration[name] = nil }
    }
    // What is written is committed at once, so nothing more comes that a batch could wait for.
    if configuration["queue.buffering.max.ms"] == nil { configuration.setIfMissing("linger.ms", "0") }
    // Until a transaction's markers are written, brokers refuse what belongs to the next: a matter of milliseconds.
    configuration.setIfMissing("retry.backoff.ms", String(Self.retryMilliseconds))
    configuration.setIfMissing("queue.buffering.max.kbytes", String(Self.queueKilobytes))
    count(&configuration)
    return configuration
  }

  /// How long a transaction may take, in milliseconds.
  ///
  /// - Parameter slowInARow: transactions in a row that failed as they took the time they had; each gives the next
  ///   twice as long, unless the user has said how long.
  package func transactionMilliseconds(slowInARow: Int) -> Int {
    transactionMilliseconds ?? Self.transactionMilliseconds[slowInARow]
  }

  /// For a producer without transactions.
  package var producer: KafkaConfiguration {
    var configuration = configuration(for: .producer)
    configuration["transactional.id"] = nil
    configuration["transaction.timeout.ms"] = nil
    // How large a record may be, the topic says; input that is rejected may be as large as the limits allow.
    configuration.setIfMissing("message.max.bytes", String(Self.greatestMessageBytes))
    return configuration
  }

  /// Refuses names and values that librdkafka does not know, before any client is made.
  ///
  /// - Throws: ``ConfigurationError``.
  package func checkProperties() throws {
    do {
      try configuration(for: .consumer).check()
      try configuration(for: .producer).check()
    } catch {
      throw error.configurationOrDaemonError
    }
  }

  /// For a client that creates topics and reads their settings.
  package var admin: KafkaConfiguration { configuration(for: .both) }

  /// What the clients call themselves.
  package var clientID: String { Self.value("client.id", properties) ?? Self.defaultName }

  /// How long a member of the group may take between two polls, in milliseconds.
  package var maxPollMilliseconds: Int64 {
    Self.value("max.poll.interval.ms", properties).flatMap { Int64($0) } ?? Self.maxPollMilliseconds
  }

  /// How many bytes a producer puts into one batch at most; librdkafka's default where nothing is said.
  package var batchBytes: Int { Self.value("batch.size", properties).flatMap { Int($0) } ?? 1_000_000 }

  /// Has a consumer give up soon on a broker that keeps its connections and says nothing.
  private static func noticeSilence(_ configuration: inout KafkaConfiguration) {
    // An answer may take as long as the broker may wait for records.
    let wait = configuration["fetch.wait.max.ms"].flatMap { Int($0) } ?? 0
    configuration.setIfMissing(
      "socket.timeout.ms",
      String(max(silenceMilliseconds, wait + silenceMilliseconds / 2))
    )
  }

  /// Has a consumer go on fetching soon after its queue has room again: before that it looks once a second.
  private static func noticeRoom(_ configuration: inout KafkaConfiguration) {
    if noticesRoom { configuration.setIfMissing(roomProperty, String(roomMilliseconds)) }
  }

  /// Whether librdkafka can be told how soon to look for room in its queue, as it can since 2.2.
  package static let noticesRoom = KafkaConfiguration.knows(roomProperty)
  private static let roomProperty = "fetch.queue.backoff.ms"
  private static let roomMilliseconds = 5

  /// Has a consumer ask now and then who leads its partitions, as one that is led by nobody any more may not say so.
  private static func noticeMoves(
    _ configuration: inout KafkaConfiguration,
    everyMilliseconds interval: Int = moveMilliseconds
  ) {
    configuration.setIfMissing("topic.metadata.refresh.interval.ms", String(interval))
    // By default three times the interval, after which a topic counts as unknown.
    configuration.setIfMissing("metadata.max.age.ms", "900000")
  }

  /// What is fetched ahead: more than is applied while a transaction is committed.
  private static let inputKilobytes = 32_768
  private func count(_ configuration: inout KafkaConfiguration) {
    if isCounting { configuration.setIfMissing("statistics.interval.ms", String(Self.countingMilliseconds)) }
  }

  private static let countingMilliseconds = 5_000
  private static let silenceMilliseconds = 10_000
  /// librdkafka's default.
  private static let maxPollMilliseconds: Int64 = 300_000
  private static let moveMilliseconds = 5_000
  /// The greatest that librdkafka takes.
  private static let anyNumberOfMessages = "10000000"
  private static let reconnectMilliseconds = 2_000
  private static let greatestMessageBytes = 1_000_000_000
  /// A member that is gone without a word is missed this long.
  private static let sessionMilliseconds = 10_000
  private static let heartbeatMilliseconds = 300
  /// What a killed worker wrote is in the way of whoever reads on for so long, unless it is started again: so little
  /// at first. Brokers may not allow more than what clients have by default.
  private static let transactionMilliseconds = ExponentialBackoff(from: 10_000, to: 60_000)
  private static let timesWithinTransaction = [
    "socket.timeout.ms", "message.timeout.ms", "delivery.timeout.ms",
  ]
  private static let retryMilliseconds = 20
  /// The size of the send queue; the rest of a transaction is written as it empties.
  private static let queueKilobytes = 131_072
  /// What is not set has a default; what is set to nothing names nothing.
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
    // Of an outage the brokers' part is long enough.
    configuration.setIfMissing("reconnect.backoff.max.ms", String(Self.reconnectMilliseconds))
    return configuration
  }

  private static func value(_ name: String, _ properties: [ConfigurationPair]) -> String? {
    properties.last { $0.name == name }?.value
  }

  /// Refuses a name that is empty, and a property that FeedStore owns unless it has the one value that works.
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
