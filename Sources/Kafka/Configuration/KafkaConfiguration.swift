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
  /// One property.
  public struct Property: Sendable, Hashable {
    public var name: String
    public var value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The properties, in the order of application.
  public private(set) var properties: [Property] = []

  /// Receives connection errors. A client without one creates its own.
  public var connectionFaults: ConnectionFaults?

  /// Whether clients have a certificate to present.
  var hasCertificate: Bool {
    ["ssl.certificate.location", "ssl.certificate.pem", "ssl.keystore.location"].contains { self[$0] != nil }
  }

  public init() {}

  /// Creates a configuration from names and values. If a name occurs twice, the last value counts.
  public init(_ properties: some Sequence<(String, String)>) {
    for (name, value) in properties {
      self[name] = value
    }
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

  /// Sets a property unless the user has set it.
  mutating func setDefault(_ name: String, _ value: String) {
    if self[name] == nil {
      self[name] = value
    }
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
  public init(dictionaryLiteral elements: (String, String)...) {
    self.init(elements)
  }
}
