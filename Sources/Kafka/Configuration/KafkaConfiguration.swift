import CRdkafka

/// Names and values of librdkafka's configuration properties, passed on as they are.
///
/// Properties are applied in the order in which they were first set; setting one again replaces its value.
/// The names and what they accept are librdkafka's (`CONFIGURATION.md`). Nothing is checked until `check` is
/// called or a client is made: these throw an error that names the property and the value.
///
/// One configuration serves consumers and producers alike: librdkafka passes over, and logs, a producer's
/// property in a consumer and the other way round.
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

  /// The properties, in the order in which they are applied.
  public private(set) var properties: [Property] = []

  /// Told why brokers cannot be connected to; a client without one has its own.
  public var connectionFaults: ConnectionFaults?

  /// Whether clients have a certificate of their own to show.
  var hasCertificate: Bool {
    ["ssl.certificate.location", "ssl.certificate.pem", "ssl.keystore.location"].contains { self[$0] != nil }
  }

  public init() {}

  /// Makes a configuration from names and values; of a name given twice the last value counts.
  public init(_ properties: some Sequence<(String, String)>) {
    for (name, value) in properties {
      self[name] = value
    }
  }

  /// The value of a property, nil where it is not set; setting nil removes it.
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

  /// Whether the librdkafka that is there has a property of that name.
  public static func knows(_ name: String) -> Bool {
    let configuration = rd_kafka_conf_new()
    defer { rd_kafka_conf_destroy(configuration) }
    // What has no value by default cannot be got, only set; nothing is no value for numbers, but that is another answer.
    let (result, _) = withErrorText { rd_kafka_conf_set(configuration, name, "", $0, $1) }
    return result != RD_KAFKA_CONF_UNKNOWN
  }

  /// Whether a property's value is not for logs: a secret, what is said of one, or that of a property which librdkafka
  /// does not know.
  public static func isMasked(_ name: String) -> Bool {
    let isSecret =
      ["sasl.", "ssl.key"].contains { name.hasPrefix($0) }
      || ["password", "secret", "token", "jaas", "key.pem"].contains { name.contains($0) }
    return isSecret || !knows(name)
  }

  /// Refuses a property that librdkafka does not know, or a value that it does not take. What must fit together is
  /// checked when a client is made.
  ///
  /// - Throws: `_INVALID_ARG` naming the property and its value.
  public func check() throws(KafkaError) { _ = try ConfigurationHandle(self) }

  /// Sets a property that the user has not set.
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
