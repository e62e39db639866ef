import CRdkafka

/// librdkafka's configuration properties, by name, passed on unchanged.
///
/// Properties are applied in the order in which they were first set; setting one again replaces its value. librdkafka's
/// `CONFIGURATION.md` lists names and values. Nothing is checked until `check` is called or a client is created; these
/// throw an error with the property and the value.
///
/// One configuration serves consumers and producers: librdkafka ignores and logs a producer's property in a consumer,
/// and vice versa.
public struct KafkaConfiguration: Sendable, Hashable {
  public struct Property: Sendable, Hashable {
    public let name: String
    public internal(set) var value: String
  }

  /// The properties, in the order of application.
  public private(set) var properties: [Property] = []

  /// Receives connection errors. A client without one creates its own.
  public var connectionFaults: ConnectionFaults?

  /// Provides the tokens for SASL OAUTHBEARER; nil if librdkafka obtains them, or uses another mechanism.
  public var tokens: TokenSource?

  /// Whether clients have a certificate to present.
  var hasCertificate: Bool {
    ["ssl.certificate.location", "ssl.certificate.pem", "ssl.keystore.location"].contains { self[$0] != nil }
  }

  public init() {}

  /// Creates a configuration from names and values. If a name occurs twice, the last value counts.
  public init(_ properties: some Sequence<(String, String)>) {
    for (name, value) in properties { self[name] = value }
  }

  /// The value of a property; nil if it is not set. Setting nil removes the property.
  public subscript(name: String) -> String? {
    get { properties.first { $0.name == name }?.value }
    set {
      let index = properties.firstIndex { $0.name == name }
      switch (index, newValue) {
      case (let index?, let value?): properties[index].value = value
      case (let index?, nil): properties.remove(at: index)
      case (nil, let value?): properties.append(Property(name: name, value: value))
      case (nil, nil): break
      }
    }
  }

  /// Whether the loaded librdkafka has this property.
  public static func knows(_ name: String) -> Bool {
    let configuration = rd_kafka_conf_new()
    defer { rd_kafka_conf_destroy(configuration) }
    // A property without a default cannot be read, only set. An empty value may be invalid, but then the error is
    // another one.
    let (result, _) = withErrorText { rd_kafka_conf_set(configuration, name, "", $0, $1) }
    return result != RD_KAFKA_CONF_UNKNOWN
  }

  /// Whether a property's value must not be logged: a secret, a value derived from one, or a property that librdkafka
  /// does not know.
  public static func isMasked(_ name: String) -> Bool {
    let isSecret =
      ["sasl.", "ssl.key"].contains { name.hasPrefix($0) }
      || ["password", "secret", "token", "jaas", "key.pem"].contains { name.contains($0) }
    return isSecret || !knows(name)
  }

  /// Rejects unknown properties and invalid values. Combinations are checked when a client is created.
  ///
  /// - Throws: `_INVALID_ARG` with the property and its value.
  public func check() throws(KafkaError) { _ = try ConfigurationHandle(self) }

  package mutating func setDefaults(_ defaults: KeyValuePairs<String, String>) {
    for (name, value) in defaults where self[name] == nil { self[name] = value }
  }

  /// Sets a property that this module depends on.
  ///
  /// - Throws: `_INVALID_ARG` if the user has set it to something else.
  mutating func require(_ name: String, _ value: String, because reason: String) throws(KafkaError) {
    if let given = self[name], given != value {
      throw .make(
        .invalidArgument,
        "use the property \(name) = \"\(given)\"",
        detail: "it must be \"\(value)\", because \(reason); remove it"
      )
    }
    self[name] = value
  }
}

extension KafkaConfiguration: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, String)...) { self.init(elements) }

  /// Adds the properties that a consumer needs, and better defaults.
  ///
  /// - Throws: `_INVALID_ARG` with a property that the user has set to an unusable value.
  func completedForConsumer(isolationLevel: IsolationLevel?) throws(KafkaError) -> KafkaConfiguration {
    var configuration = self
    // librdkafka requires a group name. The consumer neither joins this group nor commits to it.
    configuration.setDefaults(["group.id": "no-group", "socket.nagle.disable": "true"])
    let commits = "offsets are committed together with their results"
    let required = [
      ("partition.assignment.strategy", "cooperative-sticky", "only moving partitions are revoked"),
      ("enable.auto.commit", "false", commits), ("enable.auto.offset.store", "false", commits),
      ("enable.partition.eof", "true", "FeedStore waits for the ends of partitions"),
    ]
    for (name, value, reason) in required { try configuration.require(name, value, because: reason) }
    if let isolationLevel { configuration["isolation.level"] = isolationLevel.rawValue }
    return configuration
  }
}

/// Which records of transactions a consumer reads.
public enum IsolationLevel: String, Sendable {
  /// Only records of committed transactions, up to the last stable offset.
  case readCommitted = "read_committed"
  /// All records. Watermarks then include open and aborted transactions.
  case readUncommitted = "read_uncommitted"
}

/// Receives librdkafka's log lines, and errors that it reports outside of any call.
///
/// Called on librdkafka's threads and on the client's. It must return quickly, and must not call the client.
/// The facility is librdkafka's short upper-case tag, for example `FAIL`.
public typealias KafkaLogHandler =
  @Sendable (_ level: KafkaLogLevel, _ facility: String, _ message: String) -> Void

/// The severity of a log line; the numbers are syslog's.
public enum KafkaLogLevel: Int32, Sendable, Comparable {
  case emergency = 0
  case alert, critical, error, warning, notice, info, debug

  /// Orders by number: `.emergency`, the most severe, is the least.
  public static func < (one: KafkaLogLevel, other: KafkaLogLevel) -> Bool { one.rawValue < other.rawValue }
}

/// librdkafka's configuration object, destroyed with this value unless a client has taken ownership.
struct ConfigurationHandle: ~Copyable {
  let pointer: OpaquePointer

  /// Creates the object and sets every property.
  ///
  /// - Throws: `_INVALID_ARG` with the property and its value.
  init(_ configuration: KafkaConfiguration) throws(KafkaError) {
    pointer = rd_kafka_conf_new()
    for property in configuration.properties { try set(property) }
  }

  deinit { rd_kafka_conf_destroy(pointer) }

  /// Creates a client, which takes ownership of the configuration. On failure, the configuration is destroyed.
  consuming func makeClient(_ type: rd_kafka_type_t) throws(KafkaError) -> OpaquePointer {
    let (client, text) = withErrorText { rd_kafka_new(type, pointer, $0, $1) }
    guard let client else {
      let kind = type == RD_KAFKA_CONSUMER ? "consumer" : "producer"
      let code = KafkaErrorCode(rd_kafka_last_error())
      _ = consume self
      throw .make(code, "make a Kafka \(kind)", detail: text)
    }
    discard self
    return client
  }

  private func set(_ property: KafkaConfiguration.Property) throws(KafkaError) {
    let (result, text) = withErrorText { rd_kafka_conf_set(pointer, property.name, property.value, $0, $1) }
    if result == RD_KAFKA_CONF_OK { return }
    // Secrets must not reach a log, and librdkafka's message repeats an invalid value.
    let isMasked = KafkaConfiguration.isMasked(property.name)
    let shown = isMasked ? "(not shown)" : "\"\(property.value)\""
    let isUnknown = result == RD_KAFKA_CONF_UNKNOWN
    throw .make(
      .invalidArgument,
      "set the property \(property.name) = \(shown)",
      detail: isMasked && !isUnknown && !text.contains("not supported in this build")
        ? "its value is not valid" : text
    )
  }
}
