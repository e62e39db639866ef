import FeedKafka
import FeedStore
import FeedTestSupport
import Foundation
import HTTP
import Oracle
import Settings
import Testing

@testable import FeedConfiguration

struct ConfigurationSourcesTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func load(
    _ text: String = "{}",
    environment: [String: String] = [:],
    _ assignments: String...
  ) throws -> LoadedConfiguration {
    try ConfigurationSources(
      file: try folder.file("feedstore.json5", text.utf8),
      environment: environment,
      assignments: assignments
    ).load()
  }

  private func reading(_ key: String, _ loaded: LoadedConfiguration) throws -> ConfigurationReading {
    try #require(loaded.readings.first { $0.key == key })
  }

  @Test func `--set overrides the environment, which overrides the file, which overrides the defaults`()
    throws
  {
    let file = "{ coalesce: {\n window: 1,\n idleWindow: 2,\n maxRecords: 3 } }"
    let environment = ["FEEDSTORE_COALESCE_WINDOW": "10", "FEEDSTORE_COALESCE_IDLE_WINDOW": "20ms"]
    let loaded = try load(file, environment: environment, "coalesce.window=1s")
    let coalescing = loaded.configuration.store.coalescing
    #expect(coalescing.windowMilliseconds == 1_000)
    #expect(coalescing.idleWindowMilliseconds == 20)
    #expect(coalescing.maxRecords == 3)
    let path = folder.path("feedstore.json5")
    let sources = try ["window", "idleWindow", "maxRecords", "maxBytes"].map {
      try reading("coalesce.\($0)", loaded).source
    }
    #expect(
      sources == [
        .assignment, .environment("FEEDSTORE_COALESCE_IDLE_WINDOW"), .file(path, line: 4), .defaultValue,
      ]
    )
  }

  @Test func `every key has its own environment variable`() throws {
    let keys = FeedStoreConfiguration.keys
    let names = keys.map(ConfigurationVariables.name)
    #expect(Set(names).count == names.count)
    #expect(ConfigurationVariables.name(of: "limits.maxIdBytes") == "FEEDSTORE_LIMITS_MAX_ID_BYTES")
    for (key, name) in zip(keys, names) {
      let isReserved = ConfigurationVariables.reservedNames.contains { name.hasPrefix("FEEDSTORE_" + $0) }
      #expect(!isReserved, "\(name) is reserved")
      var document = ConfigurationDocument()
      #expect(ConfigurationVariables.apply([name: "x"], to: &document) == [])
      #expect(document.entries.keys.sorted() == [key])
    }
  }

  @Test func `librdkafka's properties have variables`() throws {
    let loaded = try load(
      environment: [
        "FEEDSTORE_KAFKA_BOOTSTRAP_SERVERS": "a:1,b:2", "FEEDSTORE_KAFKA_ACKS": "all",
        "FEEDSTORE_KAFKA_SESSION_TIMEOUT_MS": "6000",
      ]
    )
    #expect(loaded.configuration.kafka.map(\.name) == ["acks", "bootstrap.servers", "session.timeout.ms"])
    #expect(loaded.configuration.kafka.map(\.value) == ["all", "a:1,b:2", "6000"])
    #expect(loaded.unknownVariables == [])
  }

  @Test func `variables of tests, builds and Kubernetes are ignored`() throws {
    let loaded = try load(
      environment: [
        "FEEDSTORE_TEST_BOOTSTRAP": "x", "FEEDSTORE_COMMIT": "x", "FEEDSTORE_SERVICE_HOST": "x",
        "FEEDSTORE_PORT_8321_TCP": "x", "FEEDSTORE_WORKERS": "", "HOME": "/",
      ]
    )
    #expect(loaded.unknownVariables == [])
  }

  @Test func `a variable that sets nothing is reported, with the nearest name and without its value`() throws
  {
    let names = ["HTTP_TOKENS", "KAFKA_GROUP_IDD", "ZZZ"].map { "FEEDSTORE_\($0)" }
    let loaded = try load(environment: Dictionary(uniqueKeysWithValues: names.map { ($0, "hunter2") }))
    let hints = ["did you mean FEEDSTORE_HTTP_TOKEN?", "did you mean FEEDSTORE_KAFKA_GROUP_ID?"]
    #expect(loaded.unknownVariables.map(\.name) == names)
    #expect(
      loaded.unknownVariables.map(\.description)
        == zip(names, hints + ["remove it, or correct its name"]).map {
          "the environment variable \($0) sets nothing; \($1)"
        }
    )
  }

  @Test func `an error in a variable names the variable`() throws {
    let error = #expect(throws: ConfigurationError.self) {
      try load(environment: ["FEEDSTORE_HTTP_PORT": "tcp://a"])
    }
    #expect(
      error?.description
        == "FEEDSTORE_HTTP_PORT: http.port is \"tcp://a\"; allowed: a whole number from 0 to 65535"
    )
  }

  @Test func `a token in the environment is not parsed`() throws {
    let loaded = try load(environment: ["FEEDSTORE_HTTP_TOKEN": "01234567890123456789"])
    #expect(loaded.configuration.http.token == "01234567890123456789")
    #expect(try reading("http.token", loaded).shown == "(not shown)")
  }

  @Test func `secrets come from variables and files, and are listed by their references`() throws {
    let secret = try folder.file("password", "hunter2\n".utf8)
    chmod(secret, 0o600)
    let loaded = try load(
      """
      { kafka: { "sasl.password": "${file:\(secret)}", "sasl.username": "${env:NAME}", "client.id": "c-${env:NAME}",
        "ssl.key.password": "x${env:NAME}", "ssl.ca.location": "/ca" } }
      """,
      environment: ["NAME": "alice"],
      "kafka.sasl.mechanisms=PLAIN"
    )
    let values = Dictionary(uniqueKeysWithValues: loaded.configuration.kafka.map { ($0.name, $0.value) })
    #expect(values["sasl.password"] == "hunter2" && values["sasl.username"] == "alice")
    #expect(values["client.id"] == "c-alice" && values["ssl.key.password"] == "xalice")
    let shown = Dictionary(uniqueKeysWithValues: loaded.readings.map { ($0.key, $0.shown) })
    #expect(shown["kafka.sasl.password"] == "${file:\(secret)}")
    #expect(shown["kafka.sasl.username"] == "${env:NAME}")
    #expect(shown["kafka.client.id"] == "\"c-alice\"")
    #expect(shown["kafka.ssl.key.password"] == "(not shown)")
    #expect(shown["kafka.sasl.mechanisms"] == "(not shown)")
    #expect(shown["kafka.ssl.ca.location"] == "\"/ca\"")
    #expect(!shown.values.contains { $0.contains("hunter2") })
  }

  @Test func `unknown librdkafka properties are masked`() throws {
    let loaded = try load("{}", environment: [:], "kafka.my.thing=hunter2")
    #expect(try reading("kafka.my.thing", loaded).shown == "(not shown)")
    let settings = try KafkaSettings(
      loaded.configuration.kafka + [ConfigurationPair(name: "bootstrap.servers", value: "x:1")]
    )
    #expect {
      try settings.checkProperties()
    } throws: { error in
      "\(error)".contains("my.thing") && !"\(error)".contains("hunter2")
    }
  }

  @Test(arguments: ["ssl.key.location", "ssl.keystore.location", "sasl.kerberos.keytab"])
  func `a key file that other users can read is refused`(name: String) throws {
    let key = try folder.file("key.pem", "key".utf8)
    chmod(key, 0o640)
    // A file owned by root may be readable by its group, not by others.
    if geteuid() == 0 { chmod(key, 0o644) }
    let error = #expect(throws: ConfigurationError.self) {
      try load("{}", environment: [:], "kafka.\(name)=\(key)")
    }
    #expect(error?.message.hasPrefix("kafka.\(name): \(key) holds a secret") == true)
    chmod(key, 0o600)
    #expect(try load("{}", environment: [:], "kafka.\(name)=\(key)").configuration.kafka.count == 1)
    let missing = #expect(throws: ConfigurationError.self) {
      try load("{}", environment: [:], "kafka.\(name)=\(key).not")
    }
    #expect(missing?.message.hasPrefix("kafka.\(name): cannot read \(key).not") == true)
  }

  @Test func `all other sources override a command's own settings`() throws {
    var sources = ConfigurationSources(file: nil, environment: ["FEEDSTORE_HTTP_PORT": "7"], assignments: [])
    sources.command = (
      name: "demo",
      settings: [
        ConfigurationPair(name: "http.port", value: "0"), ConfigurationPair(name: "workers", value: "2"),
      ]
    )
    let loaded = try sources.load()
    #expect(loaded.configuration.http.server.port == 7 && loaded.configuration.workers == 2)
    #expect(try reading("workers", loaded).source.description == "feedstore demo")
  }

  @Test func `numbers are listed with their units`() throws {
    let loaded = try load("{}", environment: [:], "coalesce.window=2s")
    let window = try reading("coalesce.window", loaded)
    #expect(window.value == .integer(2_000) && window.unit == .milliseconds)
    #expect(try reading("limits.maxIdBytes", loaded).unit == .bytes)
    #expect(try reading("workers", loaded).unit == nil)
  }
}
