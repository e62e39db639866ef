import Feed
import FeedStore
import Service

extension FeedStoreConfiguration {
  /// The maximum of numeric settings: the largest integer that every JSON reader represents exactly. It is 285,000
  /// years in milliseconds and 9 PB in bytes, so it can stand for "never" and "no limit".
  static let greatest = 9_007_199_254_740_991

  /// Kafka stores a message's size in 32 bits.
  static let greatestMessage = 2_147_483_647

  /// Each worker has its own thread and clients.
  static let mostWorkers = 256

  /// Reads every key. This is the only place with each key's name, default and range.
  mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    try store.coalescing.read(&reader)
    try store.planner.read(&reader)
    try store.keyframe.read(&reader)
    try store.output.read(&reader)
    try store.limits.read(&reader)
    try store.topics.read(&reader)
    try reader.readBytes("transactions.maxBytes", into: &maxTransactionBytes, from: 1)
    try reader.read("workers", into: &workers, from: 1, to: Self.mostWorkers)
    startupTimeoutMilliseconds = try reader.integer(
      "startup.timeout",
      .milliseconds,
      default: startupTimeoutMilliseconds,
      in: 0...86_400_000
    )
    try standby.read(&reader)
    try http.read(&reader)
    logLevel = try reader.choice("log.level", default: logLevel)
    logFormat = try reader.choice("log.format", default: logFormat)
    // Read first, so that FeedStore's own keys are not passed to librdkafka.
    lostInput = try reader.choice("kafka.onLostInput", default: lostInput)
    allowsPlugins = try reader.boolean("kafka.allowPlugins", default: allowsPlugins)
    kafka = try reader.pairs(prefix: "kafka.")
  }
}

extension ConfigurationReader {
  /// Reads a duration into a property, which holds the default.
  fileprivate mutating func readMilliseconds(
    _ key: String,
    into value: inout Int64
  ) throws(ConfigurationError) {
    let greatest = Int64(FeedStoreConfiguration.greatest)
    value = try integer(key, .milliseconds, default: value, in: 0...greatest)
  }

  /// Reads a number of bytes into a property, which holds the default.
  fileprivate mutating func readBytes(
    _ key: String,
    into value: inout Int,
    from least: Int,
    to greatest: Int = FeedStoreConfiguration.greatest
  ) throws(ConfigurationError) {
    value = try integer(key, .bytes, default: value, in: least...greatest)
  }

  /// Reads a count into a property, which holds the default.
  fileprivate mutating func read(
    _ key: String,
    into value: inout Int,
    from least: Int,
    to greatest: Int = FeedStoreConfiguration.greatest
  ) throws(ConfigurationError) {
    value = try integer(key, default: value, in: least...greatest)
  }

  /// Reads a fraction or ratio into a property. Values above 1 are always allowed, and mean "never".
  fileprivate mutating func read(_ key: String, into value: inout Double) throws(ConfigurationError) {
    value = try number(key, default: value, in: 0...Double.greatestFiniteMagnitude)
  }

  fileprivate mutating func readTopic(_ key: String, into value: inout String) throws(ConfigurationError) {
    value = try string(
      key,
      default: value,
      allowed: TopicName.allowed
    ) { name in
      Array(name.utf8).withUnsafeBytes { TopicName.isLegal(ByteSpan($0)) }
    }
  }
}

extension CoalescingOptions {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    try reader.readMilliseconds("coalesce.window", into: &windowMilliseconds)
    try reader.readMilliseconds("coalesce.idleWindow", into: &idleWindowMilliseconds)
    try reader.read("coalesce.maxRecords", into: &maxRecords, from: 1)
    try reader.readBytes("coalesce.maxBytes", into: &maxBytes, from: 1)
    try reader.readMilliseconds("coalesce.backlogWindow", into: &backlogWindowMilliseconds)
    try reader.read("coalesce.backlogMaxRecords", into: &backlogMaxRecords, from: 0)
    try reader.readBytes("coalesce.backlogMaxBytes", into: &backlogMaxBytes, from: 0)
    try reader.readMilliseconds("coalesce.backlogCommit", into: &backlogCommitMilliseconds)
  }
}

extension PlannerThresholds {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    try reader.read("planner.maxChanges", into: &maxChanges, from: 0)
    try reader.read("planner.maxChangedFraction", into: &maxChangedFraction)
    try reader.read("planner.minimumItems", into: &minimumItems, from: 0)
    try reader.read("planner.maxKindFraction", into: &maxKindFraction)
    try reader.read("planner.maxReloadRatio", into: &maxReloadRatio)
    try reader.read("planner.maxBytesRatio", into: &maxBytesRatio)
  }
}

extension KeyframePolicy {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    try reader.read("keyframe.maxDeltas", into: &maxDeltas, from: 1, to: Self.greatestMaxDeltas)
    try reader.read("keyframe.maxBytesRatio", into: &maxBytesRatio)
  }
}

extension OutputOptions {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    try reader.readBytes(
      "output.maxMessageBytes",
      into: &maxMessageBytes,
      from: 65_537,
      to: FeedStoreConfiguration.greatestMessage
    )
    source = try reader.string("output.source", default: source, allowed: "a string that is not empty") {
      !$0.isEmpty
    }
  }
}

extension Limits {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    try reader.readBytes("limits.maxIdBytes", into: &maxIdBytes, from: 1, to: 255)
    try reader.readBytes(
      "limits.maxDataBytes",
      into: &maxDataBytes,
      from: 1,
      to: FeedStoreConfiguration.greatestMessage
    )
    try reader.read("limits.maxItems", into: &maxItems, from: 0, to: 500_000_000)
    try reader.read("limits.maxSections", into: &maxSections, from: 0, to: 50_000_000)
    try reader.read("limits.maxEvents", into: &maxEvents, from: 1)
    try reader.read("limits.maxDepth", into: &maxDepth, from: 1, to: 10_000)
    try reader.readBytes(
      "limits.maxRecordBytes",
      into: &maxRecordBytes,
      from: 1,
      to: FeedStoreConfiguration.greatestMessage
    )
    try reader.read("limits.maxFeeds", into: &maxFeeds, from: 0)
    try reader.readBytes("limits.maxStateBytes", into: &maxStateBytes, from: 0)
  }
}

extension StandbyOptions {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    isEnabled = try reader.boolean("standby.enabled", default: isEnabled)
    try reader.readBytes("standby.maxBytes", into: &maxBytes, from: 0)
  }
}

extension HTTPOptions {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    isEnabled = try reader.boolean("http.enabled", default: isEnabled)
    servesFeeds = try reader.boolean("http.feeds", default: servesFeeds)
    address = try reader.string(
      "http.address",
      default: address,
      allowed: "a numeric address such as 127.0.0.1"
    ) {
      !$0.isEmpty
    }
    try reader.read("http.port", into: &port, from: 0, to: 65_535)
    token = try reader.string("http.token", default: token)
    tokenFile = try reader.string("http.tokenFile", default: tokenFile)
    tlsCertificate = try reader.string("http.tls.certificate", default: tlsCertificate)
    tlsKey = try reader.string("http.tls.key", default: tlsKey)
    tlsClientAuthority = try reader.string("http.tls.clientAuthority", default: tlsClientAuthority)
    metricsWithoutToken = try reader.boolean("http.metricsWithoutToken", default: metricsWithoutToken)
    advertisedURL = try reader.string(
      "http.advertisedUrl",
      default: advertisedURL,
      allowed: "a URL that begins with http:// or https://, of at most 200 visible ASCII characters",
      where: Self.isURL
    )
    try reader.read("http.threads", into: &threads, from: 1, to: 64)
    try reader.read("http.maxConnections", into: &maxConnections, from: 1, to: 1_000_000)
    try reader.read(
      "http.maxConnectionsPerAddress",
      into: &maxConnectionsPerAddress,
      from: 0,
      to: 1_000_000
    )
    try reader.read("http.maxStreams", into: &maxStreams, from: 1, to: 1_000_000)
    try reader.readBytes("http.maxStreamBytes", into: &maxStreamBytes, from: 1024, to: 1 << 30)
    try reader.readBytes("http.maxHistoryBytes", into: &maxHistoryBytes, from: 0)
    try reader.readBytes("http.maxReloadBytes", into: &maxReloadBytes, from: 0)
    heartbeatMilliseconds = try reader.integer(
      "http.heartbeat",
      .milliseconds,
      default: heartbeatMilliseconds,
      in: 1...86_400_000
    )
  }

  private static func isURL(_ text: String) -> Bool {
    guard !text.isEmpty else { return true }
    let isVisible = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }
    return isVisible && text.utf8.count <= 200 && (text.hasPrefix("http://") || text.hasPrefix("https://"))
  }
}

extension TopicNames {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    try reader.readTopic("topics.sections", into: &sections)
    try reader.readTopic("topics.items", into: &items)
    try reader.readTopic("topics.changesets", into: &changesets)
    try reader.readTopic("topics.rejected", into: &rejected)
  }
}
