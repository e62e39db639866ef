import Feed
import FeedStore
import Service

/// Kafka stores a message's size in 32 bits.
private let greatestSize = 2_147_483_647

extension FeedStoreConfiguration {
  /// Each worker has its own thread and clients.
  private static let mostWorkers = 256

  /// Reads every key. This is the only place with each key's name, default and range.
  mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    try store.coalescing.read(&reader)
    try store.planner.read(&reader)
    let mostDeltas = KeyframePolicy.greatestMaxDeltas
    try reader.read("keyframe.maxDeltas", into: &store.keyframe.maxDeltas, from: 1, to: mostDeltas)
    try reader.read("keyframe.maxBytesRatio", into: &store.keyframe.maxBytesRatio)
    try store.output.read(&reader)
    try store.limits.read(&reader)
    try reader.readTopic("topics.sections", into: &store.topics.sections)
    try reader.readTopic("topics.items", into: &store.topics.items)
    try reader.readTopic("topics.changesets", into: &store.topics.changesets)
    try reader.readTopic("topics.rejected", into: &store.topics.rejected)
    try reader.read("transactions.maxBytes", .bytes, into: &maxTransactionBytes, from: 1)
    try reader.read("workers", into: &workers, from: 1, to: Self.mostWorkers)
    let day: Int64 = 86_400_000
    try reader.read("startup.timeout", .milliseconds, into: &startupTimeoutMilliseconds, from: 0, to: day)
    standby.isEnabled = try reader.boolean("standby.enabled", default: standby.isEnabled)
    try reader.read("standby.maxBytes", .bytes, into: &standby.maxBytes, from: 0)
    try http.read(&reader)
    try ingest.read(&reader)
    logLevel = try reader.choice("log.level", default: logLevel)
    logFormat = try reader.choice("log.format", default: logFormat)
    // Read first, so that FeedStore's own keys are not passed to librdkafka.
    lostInput = try reader.choice("kafka.onLostInput", default: lostInput)
    allowsPlugins = try reader.boolean("kafka.allowPlugins", default: allowsPlugins)
    kafka = try reader.pairs(prefix: "kafka.")
  }
}

extension ConfigurationReader {
  fileprivate mutating func readTopic(_ key: String, into value: inout String) throws(ConfigurationError) {
    value = try string(key, default: value, allowed: TopicName.allowed, where: TopicName.isLegal)
  }
}

extension CoalescingOptions {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    try reader.read("coalesce.window", .milliseconds, into: &windowMilliseconds, from: 0)
    try reader.read("coalesce.idleWindow", .milliseconds, into: &idleWindowMilliseconds, from: 0)
    try reader.read("coalesce.maxRecords", into: &maxRecords, from: 1)
    try reader.read("coalesce.maxBytes", .bytes, into: &maxBytes, from: 1)
    try reader.read("coalesce.backlogWindow", .milliseconds, into: &backlogWindowMilliseconds, from: 0)
    try reader.read("coalesce.backlogMaxRecords", into: &backlogMaxRecords, from: 0)
    try reader.read("coalesce.backlogMaxBytes", .bytes, into: &backlogMaxBytes, from: 0)
    try reader.read("coalesce.backlogCommit", .milliseconds, into: &backlogCommitMilliseconds, from: 0)
  }
}

extension PlannerThresholds {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    try forEachFigure { name, count throws(ConfigurationError) in
      try reader.read("planner.\(name)", into: &count, from: 0)
    } ratio: { name, ratio throws(ConfigurationError) in
      try reader.read("planner.\(name)", into: &ratio)
    }
  }
}

extension OutputOptions {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    try reader.read("output.maxMessageBytes", .bytes, into: &maxMessageBytes, from: 65_537, to: greatestSize)
    source = try reader.string("output.source", default: source, allowed: "a string that is not empty") {
      !$0.isEmpty
    }
  }
}

extension Limits {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    try reader.read("limits.maxIdBytes", .bytes, into: &maxIdBytes, from: 1, to: 255)
    try reader.read("limits.maxDataBytes", .bytes, into: &maxDataBytes, from: 1, to: greatestSize)
    try reader.read("limits.maxItems", into: &maxItems, from: 0, to: 500_000_000)
    try reader.read("limits.maxSections", into: &maxSections, from: 0, to: 50_000_000)
    try reader.read("limits.maxEvents", into: &maxEvents, from: 1)
    try reader.read("limits.maxDepth", into: &maxDepth, from: 1, to: 10_000)
    try reader.read("limits.maxRecordBytes", .bytes, into: &maxRecordBytes, from: 1, to: greatestSize)
    try reader.read("limits.maxFeeds", into: &maxFeeds, from: 0)
    try reader.read("limits.maxStateBytes", .bytes, into: &maxStateBytes, from: 0)
  }
}

extension HTTPServerConfiguration {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    let addresses = "a numeric address such as 127.0.0.1"
    address = try reader.string("http.address", default: address, allowed: addresses) { !$0.isEmpty }
    try reader.read("http.port", into: &port, from: 0, to: 65_535)
    try reader.read("http.threads", into: &threads, from: 1, to: 64)
    try reader.read("http.maxConnections", into: &maxConnections, from: 1, to: 1_000_000)
    try reader.read("http.maxConnectionsPerAddress", into: &maxConnectionsPerAddress, from: 0, to: 1_000_000)
    try reader.read("http.maxStreams", into: &maxStreams, from: 1, to: 1_000_000)
    try reader.read("http.maxStreamBytes", .bytes, into: &maxStreamQueueBytes, from: 1024, to: 1 << 30)
    try reader.read("http.heartbeat", .milliseconds, into: &heartbeatMilliseconds, from: 1, to: 86_400_000)
  }
}

extension HTTPOptions {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    isEnabled = try reader.boolean("http.enabled", default: isEnabled)
    servesFeeds = try reader.boolean("http.feeds", default: servesFeeds)
    try server.read(&reader)
    token = try reader.string("http.token", default: token)
    tokenFile = try reader.string("http.tokenFile", default: tokenFile)
    jwtKeys = try reader.string("http.jwt.keys", default: jwtKeys)
    jwtIssuer = try reader.string("http.jwt.issuer", default: jwtIssuer)
    jwtAudience = try reader.string("http.jwt.audience", default: jwtAudience)
    try reader.read("http.jwt.leeway", .milliseconds, into: &jwtLeewayMilliseconds, from: 0, to: 300_000)
    allowedOrigins = try reader.string(
      "http.allowedOrigins",
      default: allowedOrigins,
      allowed: "origins as browsers send them, such as https://app.example.org, separated by spaces",
      where: { AllowedOrigins($0) != nil }
    )
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
    try reader.read("http.maxHistoryBytes", .bytes, into: &maxHistoryBytes, from: 0)
    try reader.read("http.maxReloadBytes", .bytes, into: &maxReloadBytes, from: 0)
    try reader.read("http.maxFeedsPerStream", into: &maxFeedsPerStream, from: 1, to: 100_000)
    try reader.read("http.maxWindows", into: &maxWindows, from: 0, to: 1_000_000)
    try reader.read("http.maxWindowItems", into: &maxWindowItems, from: 0, to: 1_000_000)
    try reader.read("http.maxRequestBytes", .bytes, into: &maxRequestBytes, from: 1024, to: 1 << 30)
    takesWrites = try reader.boolean("http.writes.enabled", default: takesWrites)
  }

  private static func isURL(_ text: String) -> Bool {
    guard !text.isEmpty else { return true }
    let isVisible = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }
    return isVisible && text.utf8.count <= 200 && (text.hasPrefix("http://") || text.hasPrefix("https://"))
  }
}
