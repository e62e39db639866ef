import Feed
import FeedStore
import Service

extension PipelineConfiguration {
  /// Greatest number that a setting takes: the largest integer that every JSON reader keeps exact. In
  /// milliseconds that is 285,000 years, in bytes 9 PB, so it does for "never" and "no limit".
  static let greatest = 9_007_199_254_740_991

  /// Kafka measures a message in 32 bits.
  static let greatestMessage = 2_147_483_647

  /// Each has a thread and clients of its own.
  static let mostWorkers = 256

  /// Reads every key into its place; each key's name, default and range stand here and nowhere else.
  mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    try store.coalescing.read(&reader)
    try store.planner.read(&reader)
    try store.keyframe.read(&reader)
    try store.output.read(&reader)
    try store.limits.read(&reader)
    try store.topics.read(&reader)
    try reader.read("transactions.maxBytes", into: &maxTransactionBytes, from: 1)
    try reader.read("workers", into: &workers, from: 1, to: Self.mostWorkers)
    startupTimeoutMilliseconds = try reader.integer(
      "startup.timeout",
      default: startupTimeoutMilliseconds,
      in: 0...86_400_000
    )
    try http.read(&reader)
    logLevel = try reader.choice("log.level", default: logLevel)
    // Asked for first: what is FeedStore's own is not passed on.
    lostInput = try reader.choice("kafka.onLostInput", default: lostInput)
    kafka = try reader.pairs(prefix: "kafka.")
  }
}

extension ConfigurationReader {
  /// Reads a number of things or bytes into its place, which holds the default.
  fileprivate mutating func read(
    _ key: String,
    into value: inout Int,
    from least: Int,
    to greatest: Int = PipelineConfiguration.greatest
  ) throws(ConfigurationError) {
    value = try integer(key, default: value, in: least...greatest)
  }

  /// Reads a fraction or ratio into its place. More than 1 is allowed everywhere: it means "never".
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
    let range = 0...Int64(PipelineConfiguration.greatest)
    windowMilliseconds = try reader.integer("coalesce.window", default: windowMilliseconds, in: range)
    idleWindowMilliseconds = try reader.integer(
      "coalesce.idleWindow",
      default: idleWindowMilliseconds,
      in: range
    )
    try reader.read("coalesce.maxRecords", into: &maxRecords, from: 1)
    try reader.read("coalesce.maxBytes", into: &maxBytes, from: 1)
    backlogWindowMilliseconds = try reader.integer(
      "coalesce.backlogWindow",
      default: backlogWindowMilliseconds,
      in: range
    )
    try reader.read("coalesce.backlogMaxRecords", into: &backlogMaxRecords, from: 0)
    try reader.read("coalesce.backlogMaxBytes", into: &backlogMaxBytes, from: 0)
    backlogCommitMilliseconds = try reader.integer(
      "coalesce.backlogCommit",
      default: backlogCommitMilliseconds,
      in: range
    )
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
    try reader.read(
      "output.maxMessageBytes",
      into: &maxMessageBytes,
      from: 65_537,
      to: PipelineConfiguration.greatestMessage
    )
    source = try reader.string("output.source", default: source, allowed: "a string that is not empty") {
      !$0.isEmpty
    }
  }
}

extension Limits {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    try reader.read("limits.maxIdBytes", into: &maxIdBytes, from: 1, to: 255)
    try reader.read(
      "limits.maxDataBytes",
      into: &maxDataBytes,
      from: 1,
      to: PipelineConfiguration.greatestMessage
    )
    try reader.read("limits.maxItems", into: &maxItems, from: 0, to: 500_000_000)
    try reader.read("limits.maxSections", into: &maxSections, from: 0, to: 50_000_000)
    try reader.read("limits.maxEvents", into: &maxEvents, from: 1)
    try reader.read("limits.maxDepth", into: &maxDepth, from: 1, to: 10_000)
    try reader.read(
      "limits.maxRecordBytes",
      into: &maxRecordBytes,
      from: 1,
      to: PipelineConfiguration.greatestMessage
    )
    try reader.read("limits.maxFeeds", into: &maxFeeds, from: 0)
    try reader.read("limits.maxStateBytes", into: &maxStateBytes, from: 0)
  }
}

extension HTTPOptions {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    isEnabled = try reader.boolean("http.enabled", default: isEnabled)
    servesFeeds = try reader.boolean("http.feeds", default: servesFeeds)
    address = try reader.string("http.address", default: address, allowed: "a numeric address, as 127.0.0.1")
    {
      !$0.isEmpty
    }
    try reader.read("http.port", into: &port, from: 0, to: 65_535)
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
    try reader.read("http.maxStreamBytes", into: &maxStreamBytes, from: 1024, to: 1 << 30)
    try reader.read("http.maxHistoryBytes", into: &maxHistoryBytes, from: 0)
    try reader.read("http.maxReloadBytes", into: &maxReloadBytes, from: 0)
    try reader.read("http.heartbeat", into: &heartbeatMilliseconds, from: 1, to: 86_400_000)
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
