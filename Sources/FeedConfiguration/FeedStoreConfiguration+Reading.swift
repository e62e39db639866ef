import Diagnostics
import Feed
import FeedStore
import HTTP
import Settings

/// Kafka stores a message's size in 32 bits.
private let greatestSize = 2_147_483_647

extension FeedStoreConfiguration {
  /// Each worker has its own thread and clients.
  private static let mostWorkers = 256

  /// Reads every key. This is the only place with each key's name, range and sentence; a property holds its default. The
  /// shipped file, the tables of the pages and the messages are made from it.
  mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    reader.describe(
      """
      keyframe.maxDeltas: delta records after which a keyframe follows if it is not too large
      keyframe.maxBytesRatio: size of the delta records, as a multiple of the reload, above which a \
      keyframe follows; and maximum size of a keyframe, as a multiple of the delta records
      transactions.maxBytes: bytes of a transaction after which it ends at the next feed; see [chapter \
      6](protocol.md#6-delivery)
      topics.sections: input: by convention the updates of feeds and sections
      topics.items: input: by convention the updates of items; with as many partitions as \
      `topics.sections`
      topics.changesets: output: the changesets; compacted
      topics.rejected: output: the input records that could not be applied
      topics.contents: input: the [contents](protocol.md#216-contents) that items refer to; compacted; \
      empty if items have no references
      contents.window: milliseconds that a changed content waits for further changes before the items that \
      refer to it change
      startup.timeout: milliseconds that a start waits for topics that the brokers do not know yet, and \
      while brokers [refuse the connection](faults.md#connections-that-are-refused)
      workers: members of the group in one process, each with a thread and feeds of its own; those beyond \
      the number of partitions are idle
      kafka.onLostInput: what to do if input was deleted before it was read, or its topic was re-created: \
      `fail` to stop, `continue` to log the gap and go on; see [chapter 6](protocol.md#6-delivery)
      kafka.allowPlugins: whether librdkafka may load libraries (`plugin.library.paths`, \
      `ssl.engine.location`): anyone with write access to it can then run any code
      kafka.oauth.command: a program that prints a [token for the brokers](tls.md#tokens-of-oauth), and its \
      arguments; run without a shell, for `kafka.sasl.mechanism=OAUTHBEARER`
      kafka.*: passed to librdkafka unchanged; properties that the guarantees depend on are refused
      standby.enabled: whether a process also follows partitions that it does not own
      standby.maxBytes: bytes of state of these partitions, besides `limits.maxStateBytes`; those that do \
      not fit are not followed
      log.level: minimum level that is logged; a change takes effect after SIGHUP
      log.format: form of log lines: `text` for people, or `json` for one object per line
      """
    )
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
    let contents = try reader.string(
      "topics.contents",
      default: store.topics.contents ?? "",
      allowed: "nothing, or \(TopicName.allowed)"
    ) { $0.isEmpty || TopicName.isLegal($0) }
    store.topics.contents = contents.isEmpty ? nil : contents
    try reader.read("contents.window", .milliseconds, into: &store.contentsWindowMilliseconds, from: 0)
    try reader.read("limits.maxContentsBytes", .bytes, into: &maxContentsBytes, from: 1)
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
    oauthCommand = try reader.strings("kafka.oauth.command", allowed: "a list of a program and its arguments")
    { $0 }
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
    reader.describe(
      """
      coalesce.window: milliseconds between flushes, and the maximum that the first waiting record waits; \
      with 0 every record flushes those before it
      coalesce.idleWindow: minimum milliseconds that the first waiting record waits; if it is more than \
      the window, the window applies
      coalesce.maxRecords: records that may wait
      coalesce.maxBytes: bytes of keys and values that may wait
      coalesce.backlogWindow: milliseconds that the first record waits while the input lags
      coalesce.backlogMaxRecords: records that may wait while the input lags
      coalesce.backlogMaxBytes: bytes of keys and values that may wait while the input lags; rejected \
      records may have at most `coalesce.maxBytes`
      coalesce.backlogCommit: while the input lags: milliseconds to publish and commit a window; if it \
      takes longer, the next windows have fewer bytes, but at least an eighth
      """
    )
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
    reader.describe(
      """
      planner.maxChanges: maximum weight of a difference: its entries other than reconfigured ones
      planner.maxChangedFraction: maximum weight of a difference, as a fraction of the items
      planner.minimumItems: minimum number of items for the two fractions to apply
      planner.maxKindFraction: maximum fraction of items whose kind changed
      planner.maxReloadRatio: maximum size of a reload for `changes` and `fraction`, as a multiple of the \
      difference; with 0 they never apply
      planner.maxBytesRatio: maximum size of a difference, as a multiple of the reload
      """
    )
    try forEachFigure { name, count throws(ConfigurationError) in
      try reader.read("planner.\(name)", into: &count, from: 0)
    } ratio: { name, ratio throws(ConfigurationError) in
      try reader.read("planner.\(name)", into: &ratio)
    }
  }
}

extension OutputOptions {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    reader.describe(
      """
      output.maxMessageBytes: maximum size of a changeset record's value, in bytes; the brokers' and \
      topics' `message.max.bytes` must allow it, too
      output.source: the header `ce_source`: a name for this FeedStore
      """
    )
    try reader.read("output.maxMessageBytes", .bytes, into: &maxMessageBytes, from: 65_537, to: greatestSize)
    source = try reader.string("output.source", default: source, allowed: "a string that is not empty") {
      !$0.isEmpty
    }
  }
}

extension Limits {
  fileprivate mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    reader.describe(
      """
      limits.maxIdBytes: bytes of an id, an anchor, a kind or a key, after unescaping
      limits.maxDataBytes: bytes of one `data` without white space, also after a patch
      limits.maxItems: items of one feed
      limits.maxSections: sections of one feed
      limits.maxEvents: events of one record
      limits.maxDepth: levels of nesting of a value; a scalar has none. Followers' parsers have their own \
      limits: Python's json fails near 1000
      limits.maxRecordBytes: bytes of one record, key and value
      limits.maxFeeds: feeds of one partition; existing ones are not affected
      limits.maxStateBytes: bytes of state of one process, which should fit into its memory; see \
      [2.12](protocol.md#212-bytes-of-state)
      limits.maxContentsBytes: bytes of all contents, with their ids; each process keeps them in memory, \
      and stops when they have more
      """
    )
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
    reader.describe(
      """
      http.enabled: whether the daemon serves HTTP: health, status and metrics
      http.feeds: whether HTTP also serves feeds and the inspector. If not, the process keeps only one \
      copy of its feeds
      http.port: with 0 the system chooses a port, which is in the log
      http.address: the numeric address to listen on; any address but loopback needs a token, \
      `http.jwt.keys` or `http.tls.clientAuthority`
      http.token: the bearer token, 16 to 4096 visible characters; better in the environment variable \
      `FEEDSTORE_HTTP_TOKEN` or in a file
      http.tokenFile: a file that holds the token, instead of `http.token`; only the daemon's user may \
      read it, or root's group. SIGHUP reads it again
      http.jwt.keys: the keys of [JSON Web Tokens](http.md#json-web-tokens) (JWKS): a file, which SIGHUP \
      reads again, or the `https` address of your [identity \
      provider](serve.md#tokens-of-your-identity-provider); empty to accept none
      http.jwt.authority: a file in PEM with the authorities that sign the certificate of that address; \
      empty for the system's
      http.jwt.issuer: the required issuer of JSON Web Tokens (`iss`); empty for any
      http.jwt.audience: the required audience of JSON Web Tokens (`aud`); empty for any
      http.jwt.claim: the claim that has the rights of a token: a name, or a JSON pointer if it begins with \
      a slash
      http.jwt.read: patterns of the feeds that each valid token may read, in addition to the rights in its \
      claim; `{NAME}` stands for [a claim](http.md#rights-for-every-token)
      http.jwt.write: the same for the feeds that it may write
      http.jwt.contents: the same for the [contents](http.md#post-v1contentsid) that it may write
      http.jwt.leeway: milliseconds by which the clock of the tokens' issuer may differ
      http.public: patterns of the ids of feeds that everyone may [read without a token](http.md#access); \
      `*` stands for any text. [Caches may keep them](poll.md)
      http.allowedOrigins: the origins whose [pages may read responses](http.md#pages-of-other-origins), \
      separated by spaces
      http.tls.certificate: a file in PEM with the certificate for HTTPS, followed by intermediate ones; \
      empty for plain HTTP
      http.tls.key: a file in PEM with the certificate's private key, without a password; only the \
      daemon's user may read it, or root's group
      http.tls.clientAuthority: a file in PEM with the authorities whose certificates clients must show; \
      empty if they need none
      http.metricsWithoutToken: whether `/metrics` is served without a token
      http.advertisedUrl: the URL at which clients reach this instance, for example `https://host-3:8321`; \
      sent to clients of other instances, if this one serves feeds
      http.threads: threads that serve connections. Without HTTPS, as many again begin streams, and one \
      sends the messages of all streams
      http.maxConnections: most connections at a time
      http.maxConnectionsPerAddress: most connections from one client address, or for IPv6 from one /64 \
      network; 0 means three quarters of `http.maxConnections`. See \
      [proxies](serve.md#behind-a-reverse-proxy)
      http.maxStreams: most streams of changes at a time
      http.maxStreamBytes: most bytes queued for one slow reader of a stream, besides up to 16 KiB that \
      are being sent
      http.maxHistoryBytes: bytes of changesets that are kept for readers that reconnect, over all feeds
      http.maxReloadBytes: bytes of whole feeds that are being sent, each version counted once; above it, \
      the slowest readers are disconnected
      http.maxFeedsPerStream: most feeds of one stream, counting each \
      [view](http.md#several-views-of-a-feed) of a feed
      http.maxWindows: most different [windows](http.md#windows) of feeds that are open, over all streams and polls
      http.maxWindowItems: most items of each section that a window shows
      http.maxRequestBytes: most bytes of a request's content
      http.writes.enabled: whether clients may [write events](http.md#post-v1feedsidevents) and \
      [contents](http.md#post-v1contentsid)
      http.heartbeat: most milliseconds without data on a stream; then a comment is sent
      """
    )
    isEnabled = try reader.boolean("http.enabled", default: isEnabled)
    servesFeeds = try reader.boolean("http.feeds", default: servesFeeds)
    try server.read(&reader)
    token = try reader.string("http.token", default: token)
    tokenFile = try reader.string("http.tokenFile", default: tokenFile)
    jwtKeys = try reader.string(
      "http.jwt.keys",
      default: jwtKeys,
      allowed: "a file, or an https:// address of at most 200 visible ASCII characters without a password",
      where: { !$0.contains("://") || $0.hasPrefix("https://") && Self.isURL($0) && !$0.contains("@") }
    )
    jwtAuthority = try reader.string("http.jwt.authority", default: jwtAuthority)
    jwt.issuer = try reader.string("http.jwt.issuer", default: jwt.issuer)
    jwt.audience = try reader.string("http.jwt.audience", default: jwt.audience)
    let claims = ClaimPath.allowed
    jwt.claim = try reader.string("http.jwt.claim", default: jwt.claim, allowed: claims) {
      ClaimPath($0) != nil
    }
    jwt.read = try reader.strings("http.jwt.read", allowed: ClaimPattern.allowed, ClaimPattern.init)
    jwt.write = try reader.strings("http.jwt.write", allowed: ClaimPattern.allowed, ClaimPattern.init)
    jwt.contents = try reader.strings("http.jwt.contents", allowed: ClaimPattern.allowed, ClaimPattern.init)
    try reader.read("http.jwt.leeway", .milliseconds, into: &jwt.leewayMilliseconds, from: 0, to: 300_000)
    let patterns = try reader.strings("http.public", allowed: "a list of patterns that are not empty") {
      $0.isEmpty ? nil : $0
    }
    if !patterns.isEmpty { server.publicFeeds = NamePatterns(patterns) }
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
      allowed: Self.urls,
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

  static let urls = "a URL that begins with http:// or https://, of at most 200 visible ASCII characters"

  static func isURL(_ text: String) -> Bool {
    guard !text.isEmpty else { return true }
    let isVisible = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }
    return isVisible && text.utf8.count <= 200 && (text.hasPrefix("http://") || text.hasPrefix("https://"))
  }
}
