import FeedTestSupport
import Settings
import Testing

struct SecretKeyTests {
  @Test(arguments: [
    "kafka.sasl.password", "kafka.ssl.key.password", "kafka.ssl.keystore.password", "kafka.ssl.key.pem",
    "http.token",
    "kafka.sasl.jaas.config", "kafka.sasl.oauthbearer.client.secret", "kafka.sasl.oauthbearer.config",
    "a.keyPassword", "KAFKA.SASL.PASSWORD", "password",
  ])
  func `a secret is masked`(key: String) {
    #expect(SecretKey.isSecret(key) && SecretKey.isMasked(key))
  }

  @Test(arguments: [
    "kafka.sasl.username", "kafka.sasl.mechanisms", "kafka.ssl.key.location", "kafka.ssl.keystore.location",
  ])
  func `a value derived from a secret is masked, and may be in a readable file`(key: String) {
    #expect(!SecretKey.isSecret(key) && SecretKey.isMasked(key))
  }

  @Test(arguments: [
    "kafka.bootstrap.servers", "kafka.ssl.ca.location", "http.tokenFile", "http.jwt.keys",
    "http.metricsWithoutToken",
    "kafka.security.protocol", "topics.items",
  ])
  func `other values are shown`(key: String) {
    #expect(!SecretKey.isSecret(key) && !SecretKey.isMasked(key))
  }

  @Test(arguments: [
    "{ kafka: {\n 'sasl.password': hunter2 } }", "{ kafka: {\n 'sasl.password': [hunter2] } }",
    "{ http: {\n token: hunter2x } }",
  ])
  func `an unquoted secret is not repeated`(text: String) throws {
    let error = try #require(throws: ConfigurationError.self) {
      try ConfigurationDocument(text: text, name: "f")
    }
    #expect(error.place == "f:2")
    #expect(!error.description.contains("hunter2") && error.message.contains("must be in quotes"), "\(error)")
  }

  @Test(arguments: [
    "kafka.sasl.password hunter2", "kafka={'sasl.password':'hunter2','sasl.password':'hunter2'}",
  ])
  func `an invalid assignment does not repeat a secret`(assignment: String) throws {
    var document = ConfigurationDocument()
    let error = try #require(throws: ConfigurationError.self) { try document.set(assignment) }
    #expect(!error.description.contains("hunter2") && error.description.contains("password"), "\(error)")
  }

  @Test func `a secret of the wrong type is not repeated`() throws {
    var document = ConfigurationDocument()
    try document.set("http.token=5")
    try document.set("http.tokn=hunter2")
    var reader = ConfigurationReader(document)
    let error = try #require(throws: ConfigurationError.self) {
      try reader.boolean("http.token", default: true)
    }
    #expect(error.message == "http.token is (not shown); allowed: true or false")
    // The value of an unknown key could be a secret.
    let unknown = try #require(throws: ConfigurationError.self) { try reader.finish() }
    #expect(unknown.message == "http.tokn is not a known key; did you mean http.token?")
  }

  @Test func `a file with a secret must not be readable by others`() throws {
    let secret = "{ kafka: {\n 'sasl.password': 'hunter2' } }"
    let exposed = try SecretTestFile(secret, mode: 0o644)
    let error = try #require(throws: ConfigurationError.self) {
      try ConfigurationDocument(file: exposed.path)
    }
    #expect(error.description.hasPrefix("\(exposed.path):2: kafka.sasl.password is written here"))
    #expect(error.message.contains("(mode 0644); chmod") && error.message.contains("${file:PATH}"))
    #expect(!error.description.contains("hunter2"))
    let kept = try SecretTestFile(secret)
    #expect(
      try ConfigurationDocument(file: kept.path).entries["kafka.sasl.password"]?.value == .string("hunter2")
    )
  }

  @Test(arguments: ["''", "'${env:PASSWORD}'", "'${file:/etc/password}'", "'x${env:PASSWORD}'"])
  func `a file that refers to secrets may be readable by others`(value: String) throws {
    let file = try SecretTestFile(
      "{ kafka: { 'sasl.password': \(value), 'sasl.username': 'u' } }",
      mode: 0o644
    )
    #expect(try ConfigurationDocument(file: file.path).entries.count == 2)
  }
}
