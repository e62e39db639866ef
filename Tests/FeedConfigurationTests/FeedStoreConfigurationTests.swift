import Diagnostics
import Feed
import FeedConfiguration
import FeedStore
import HTTP
import Settings
import Testing

@Suite struct FeedStoreConfigurationTests {
  private func load(_ assignments: String...) throws(ConfigurationError) -> FeedStoreConfiguration {
    try ConfigurationSources(assignments: assignments).load().configuration
  }

  private func refusal(_ assignments: String...) throws -> ConfigurationError {
    try #require(throws: ConfigurationError.self) {
      try ConfigurationSources(assignments: assignments).load().configuration
    }
  }

  @Test func `without values, every key has its default`() throws {
    #expect(try load() == FeedStoreConfiguration())
  }

  /// A valid value other than the default for each key, and a check that it arrived.
  private static let places: [(assignment: String, arrived: @Sendable (FeedStoreConfiguration) -> Bool)] = [
    ("coalesce.window=0", { $0.store.coalescing.windowMilliseconds == 0 }),
    ("coalesce.idleWindow=0", { $0.store.coalescing.idleWindowMilliseconds == 0 }),
    ("coalesce.backlogWindow=0", { $0.store.coalescing.backlogWindowMilliseconds == 0 }),
    ("coalesce.backlogMaxRecords=0", { $0.store.coalescing.backlogMaxRecords == 0 }),
    ("coalesce.backlogMaxBytes=0", { $0.store.coalescing.backlogMaxBytes == 0 }),
    ("coalesce.backlogCommit=0", { $0.store.coalescing.backlogCommitMilliseconds == 0 }),
    ("coalesce.maxRecords=1", { $0.store.coalescing.maxRecords == 1 }),
    ("coalesce.maxBytes=2", { $0.store.coalescing.maxBytes == 2 }),
    ("planner.maxChanges=0", { $0.store.planner.maxChanges == 0 }),
    ("planner.maxChangedFraction=1e9", { $0.store.planner.maxChangedFraction == 1e9 }),
    ("planner.minimumItems=0", { $0.store.planner.minimumItems == 0 }),
    ("planner.maxKindFraction=0.25", { $0.store.planner.maxKindFraction == 0.25 }),
    ("planner.maxReloadRatio=0", { $0.store.planner.maxReloadRatio == 0 }),
    ("planner.maxBytesRatio=3", { $0.store.planner.maxBytesRatio == 3 }),
    ("keyframe.maxDeltas=1", { $0.store.keyframe.maxDeltas == 1 }),
    ("keyframe.maxBytesRatio=1000000.5", { $0.store.keyframe.maxBytesRatio == 1_000_000.5 }),
    ("output.maxMessageBytes=2147483647", { $0.store.output.maxMessageBytes == 2_147_483_647 }),
    ("output.source=//example.com/feeds?a=b", { $0.store.output.source == "//example.com/feeds?a=b" }),
    ("limits.maxIdBytes=1", { $0.store.limits.maxIdBytes == 1 }),
    ("limits.maxDataBytes=1000", { $0.store.limits.maxDataBytes == 1000 }),
    ("limits.maxItems=5", { $0.store.limits.maxItems == 5 }),
    ("limits.maxSections=0", { $0.store.limits.maxSections == 0 }),
    ("limits.maxEvents=1", { $0.store.limits.maxEvents == 1 }),
    ("limits.maxDepth=10000", { $0.store.limits.maxDepth == 10_000 }),
    ("limits.maxRecordBytes=4096", { $0.store.limits.maxRecordBytes == 4096 }),
    ("limits.maxFeeds=0", { $0.store.limits.maxFeeds == 0 }),
    ("limits.maxContentsBytes=1", { $0.maxContentsBytes == 1 }),
    ("contents.window=2", { $0.store.contentsWindowMilliseconds == 2 }),
    ("limits.maxStateBytes=1099511627776", { $0.store.limits.maxStateBytes == 1_099_511_627_776 }),
    ("topics.sections=s", { $0.store.topics.sections == "s" }),
    ("topics.items=i-1", { $0.store.topics.items == "i-1" }),
    ("topics.changesets=2024", { $0.store.topics.changesets == "2024" }),
    ("topics.rejected=r_1.x", { $0.store.topics.rejected == "r_1.x" }),
    ("topics.contents=c", { $0.store.topics.contents == "c" }),
    ("kafka.onLostInput=continue", { $0.lostInput == .continue && $0.kafka.isEmpty }),
    ("kafka.allowPlugins=true", { $0.allowsPlugins && $0.kafka.isEmpty }),
    ("kafka.oauth.command=['token', '-n', 1]", { $0.oauthCommand == ["token", "-n", "1"] }),
    ("transactions.maxBytes=1", { $0.maxTransactionBytes == 1 }),
    ("startup.timeout=1m", { $0.startupTimeoutMilliseconds == 60_000 }),
    ("workers=4", { $0.workers == 4 }),
    ("standby.enabled=true", { $0.standby.isEnabled }),
    ("standby.maxBytes=2GiB", { $0.standby.maxBytes == 2 << 30 }),
    ("startup.timeout=0", { $0.startupTimeoutMilliseconds == 0 }),
    ("http.enabled=true", { $0.http.isEnabled }),
    ("http.feeds=false", { !$0.http.servesFeeds }),
    ("http.address=::1", { $0.http.server.address == "::1" }),
    ("http.port=0", { $0.http.server.port == 0 }),
    ("http.token=t", { $0.http.token == "t" }),
    ("http.tokenFile=/t", { $0.http.tokenFile == "/t" }),
    ("http.jwt.keys=/k", { $0.http.jwtKeys == "/k" }),
    ("http.jwt.keys=https://a.example/keys", { $0.http.jwtKeys == "https://a.example/keys" }),
    ("http.jwt.authority=/ca", { $0.http.jwtAuthority == "/ca" }),
    ("http.jwt.issuer=i", { $0.http.jwt.issuer == "i" }),
    ("http.jwt.audience=a", { $0.http.jwt.audience == "a" }),
    ("http.jwt.claim=/a/b", { $0.http.jwt.claim == "/a/b" }),
    ("http.jwt.read=user-{sub}/*", { $0.http.jwt.read == [ClaimPattern("user-{sub}/*")] }),
    ("http.jwt.write=[\"a\", \"b\"]", { $0.http.jwt.write == [ClaimPattern("a"), ClaimPattern("b")] }),
    ("http.jwt.contents=user-{sub}", { $0.http.jwt.contents == [ClaimPattern("user-{sub}")] }),
    ("http.jwt.leeway=2m", { $0.http.jwt.leewayMilliseconds == 120_000 }),
    ("http.public=[\"news/*\", \"b\"]", { $0.http.server.publicFeeds == NamePatterns(["news/*", "b"]) }),
    ("http.allowedOrigins=https://a.example", { $0.http.allowedOrigins == "https://a.example" }),
    ("http.tls.certificate=/c", { $0.http.tlsCertificate == "/c" }),
    ("http.tls.key=/k", { $0.http.tlsKey == "/k" }),
    ("http.tls.clientAuthority=/a", { $0.http.tlsClientAuthority == "/a" }),
    ("http.metricsWithoutToken=true", { $0.http.metricsWithoutToken }),
    ("http.advertisedUrl=http://h:1", { $0.http.advertisedURL == "http://h:1" }),
    ("http.threads=64", { $0.http.server.threads == 64 }),
    ("http.maxConnections=1", { $0.http.server.maxConnections == 1 }),
    ("http.maxConnectionsPerAddress=7", { $0.http.server.maxConnectionsPerAddress == 7 }),
    ("http.maxStreams=1", { $0.http.server.maxStreams == 1 }),
    ("http.maxStreamBytes=1024", { $0.http.server.maxStreamQueueBytes == 1024 }),
    ("http.maxHistoryBytes=0", { $0.http.maxHistoryBytes == 0 }),
    ("http.maxReloadBytes=0", { $0.http.maxReloadBytes == 0 }),
    ("http.maxFeedsPerStream=1", { $0.http.maxFeedsPerStream == 1 }),
    ("http.maxWindows=0", { $0.http.maxWindows == 0 }),
    ("http.maxWindowItems=0", { $0.http.maxWindowItems == 0 }),
    ("http.maxRequestBytes=1024", { $0.http.maxRequestBytes == 1024 }),
    ("http.writes.enabled=true", { $0.http.takesWrites }),
    ("http.heartbeat=1", { $0.http.server.heartbeatMilliseconds == 1 }),
    ("ingest.group=g", { $0.ingest.group == "g" }),
    ("ingest.schemaRegistry.url=http://h/", { $0.ingest.schemas.url == "http://h" }),
    ("ingest.schemaRegistry.user=u", { $0.ingest.schemas.user == "u" }),
    ("ingest.schemaRegistry.password=p", { $0.ingest.schemas.password == "p" }),
    ("ingest.schemaRegistry.authority=a", { $0.ingest.schemas.authority == "a" }),
    (
      "ingest.sources=[{topic: \"t\", feed: \"f\", section: \"s\", item: \"i\"}]",
      { $0.ingest.topics == ["t"] }
    ),
    ("log.level=debug", { $0.logLevel == .debug }),
    ("log.format=json", { $0.logFormat == .json }),
  ]

  @Test func `every key sets its property`() throws {
    for (assignment, arrived) in Self.places {
      let configuration = try load(assignment)
      #expect(arrived(configuration), "\(assignment)")
      #expect(!arrived(FeedStoreConfiguration()), "\(assignment) is the default and proves nothing")
    }
    let tested = Self.places.map { String($0.assignment.prefix { $0 != "=" }) }
    #expect(Set(tested) == Set(FeedStoreConfiguration.keys))
  }

  private static let sizes = "or a size with its unit, as in 64kB or 8MiB"
  private static let milliseconds =
    "a whole number from 0 to 9007199254740991 (milliseconds), or a time with its unit, as in 250ms, 2s, 5m or 1h"

  @Test(arguments: [
    ("http.port=65536", "a whole number from 0 to 65535"),
    ("http.enabled=1", "true or false"),
    (
      "http.advertisedUrl=host:1",
      "a URL that begins with http:// or https://, of at most 200 visible ASCII characters"
    ),
    ("coalesce.window=-1", milliseconds),
    ("coalesce.window=0.5", milliseconds),
    ("coalesce.window=0.5ms", milliseconds),
    ("coalesce.window=soon", milliseconds),
    ("coalesce.window=9MiB", milliseconds),
    ("coalesce.maxRecords=0", "a whole number from 1 to 9007199254740991"),
    ("planner.maxChanges=-1", "a whole number from 0 to 9007199254740991"),
    ("planner.maxKindFraction=-0.1", "a finite number, 0 or more"),
    ("planner.maxKindFraction=Infinity", "a finite number, 0 or more"),
    ("keyframe.maxBytesRatio=NaN", "a finite number, 0 or more"),
    ("keyframe.maxDeltas=0", "a whole number from 1 to 500000"),
    ("keyframe.maxDeltas=500001", "a whole number from 1 to 500000"),
    ("limits.maxIdBytes=0", "a whole number from 1 to 255 (bytes), \(sizes)"),
    ("limits.maxIdBytes=256", "a whole number from 1 to 255 (bytes), \(sizes)"),
    ("limits.maxDepth=100001", "a whole number from 1 to 10000"),
    ("limits.maxFeeds=-1", "a whole number from 0 to 9007199254740991"),
    ("limits.maxStateBytes=16Gi", "a whole number from 0 to 9007199254740991 (bytes), \(sizes)"),
    ("limits.maxStateBytes=16s", "a whole number from 0 to 9007199254740991 (bytes), \(sizes)"),
    ("limits.maxItems=true", "a whole number from 0 to 500000000"),
    ("output.source=", "a string that is not empty"),
    ("http.public=[news/*", "a list of patterns that are not empty"),
    ("kafka.onLostInput=skip", #"one of "fail", "continue""#),
    ("workers=0", "a whole number from 1 to 256"),
    ("log.level=loud", #"one of "debug", "info", "warning", "error""#),
    ("log.format=xml", #"one of "text", "json""#),
  ])
  func `an invalid value is refused with its key and range`(_ assignment: String, allowed: String) throws {
    let message = try refusal(assignment).description
    #expect(message.hasPrefix("--set: \(assignment.prefix { $0 != "=" }) is "))
    #expect(message.hasSuffix("; allowed: \(allowed)"))
  }

  @Test func `an empty text is an empty list, and an empty pattern is refused`() throws {
    #expect(try load("http.public=").http.server.publicFeeds == nil)
    let message = try refusal("http.public=[\"a\", \"\"]").description
    #expect(message.contains("http.public[1] is \"\"; allowed: "))
  }

  @Test(arguments: ["", ".", "..", "a b", "a/b", "^feeds.*", "é", String(repeating: "x", count: 250)])
  func `a topic must have a valid Kafka name`(_ name: String) throws {
    let error = try refusal("topics.items=\"\(name)\"")
    #expect(error.message.hasPrefix("topics.items is \(name.debugDescription); allowed: "))
  }

  @Test func `output topics differ from the inputs and from each other`() throws {
    for (key, other) in [
      ("changesets", "items"), ("changesets", "sections"), ("rejected", "sections"),
      ("rejected", "changesets"),
    ] {
      let message = try refusal("topics.\(key)=feeds.\(other)").message
      #expect(message.hasPrefix("topics.\(key) is \"feeds.\(other)\" (--set), "))
      #expect(message.contains("and so is topics.\(other) (default)"))
    }
    let message = try refusal("topics.contents=feeds.items").message
    #expect(message.contains("and so is topics.items (default)"))
    #expect(try load("topics.contents=").store.topics.contents == nil)
    #expect(try load("topics.sections=in", "topics.items=in").store.topics.items == "in")
  }

  @Test func `the largest data must fit into a message`() throws {
    let error = try refusal("output.maxMessageBytes=66560")
    #expect(error.message.contains("limits.maxDataBytes is 524288 (default)"))
    #expect(error.message.contains("output.maxMessageBytes is 66560 (--set)"))
    #expect(error.message.contains("lower limits.maxDataBytes to at most 1024"))
    #expect(error.message.contains("raise output.maxMessageBytes to at least 589824"))

    #expect(
      try load("output.maxMessageBytes=66560", "limits.maxDataBytes=1024").store.limits.maxDataBytes == 1024
    )
    #expect(throws: ConfigurationError.self) {
      try load("output.maxMessageBytes=66560", "limits.maxDataBytes=1025")
    }
    #expect(throws: ConfigurationError.self) { try load("limits.maxDataBytes=2147483647") }
  }

  @Test func `librdkafka's properties are passed on as text`() throws {
    var document = try ConfigurationDocument(
      text: """
        { kafka: { "client.id": "x", group: { id: "y" }, "session.timeout.ms": 6000, "linger.ms": 0.5,
          "socket.nagle.disable": true } }
        """,
      name: "test"
    )
    try document.set("kafka.client.id=007")
    let configuration = try FeedStoreConfiguration.read(document).configuration
    #expect(
      configuration.kafka == [
        ConfigurationPair(name: "client.id", value: "007"),
        ConfigurationPair(name: "group.id", value: "y"),
        ConfigurationPair(name: "linger.ms", value: "0.5"),
        ConfigurationPair(name: "session.timeout.ms", value: "6000"),
        ConfigurationPair(name: "socket.nagle.disable", value: "true"),
      ]
    )
  }

  @Test func `an unknown key is refused, with the nearest known one`() throws {
    let error = try refusal("coalesce.windw=5")
    #expect(error.message == "coalesce.windw (5) is not a known key; did you mean coalesce.window?")
  }

  @Test func `the token comes from one place`() throws {
    var options = HTTPOptions()
    options.tokenFile = "/nonexistent"
    #expect(throws: ConfigurationError.self) { try options.acceptedTokens().bearer }
    options.token = "correct-horse-battery"
    let conflict = #expect(throws: ConfigurationError.self) { try options.acceptedTokens().bearer }
    #expect(conflict?.message.hasSuffix("is set as well; remove one of the two") == true)
    options.tokenFile = ""
    #expect(try options.acceptedTokens().bearer == BearerToken("correct-horse-battery"))
    options.token = "short"
    let error = #expect(throws: ConfigurationError.self) { try options.acceptedTokens().bearer }
    #expect(error?.message.hasPrefix("http.token: ") == true)
    #expect(error?.message.contains("short") == false)
    options.token = ""
    #expect(try options.acceptedTokens().bearer == nil)
  }

  @Test func `times and sizes may have units`() throws {
    #expect(try load("coalesce.window=1.5s").store.coalescing.windowMilliseconds == 1_500)
    #expect(try load("http.heartbeat=1m").http.server.heartbeatMilliseconds == 60_000)
    #expect(try load("coalesce.maxBytes=8MiB").store.coalescing.maxBytes == 8 << 20)
    #expect(try load("transactions.maxBytes=64kB").maxTransactionBytes == 64_000)
    #expect(try load("limits.maxStateBytes=16GiB").store.limits.maxStateBytes == 16 << 30)
    #expect(try load("output.maxMessageBytes=1MB").store.output.maxMessageBytes == 1_000_000)
  }

  @Test(arguments: ["plugin.library.paths", "ssl.engine.location"])
  func `libraries are loaded only if that is allowed`(_ name: String) throws {
    let error = try refusal("kafka.\(name)=/tmp/evil.so")
    #expect(error.description.hasPrefix("--set: kafka.\(name) would load a library"))
    #expect(error.message.contains("kafka.allowPlugins: true"))
    let allowed = try load("kafka.\(name)=/tmp/good.so", "kafka.allowPlugins=true")
    #expect(allowed.kafka == [ConfigurationPair(name: name, value: "/tmp/good.so")])
  }
}
