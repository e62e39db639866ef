import CRdkafka

/// librdkafka's configuration object, destroyed with this value unless a client has taken ownership.
struct ConfigurationHandle: ~Copyable {
  let pointer: OpaquePointer

  /// Creates the object and sets every property.
  ///
  /// - Throws: `_INVALID_ARG` with the property and its value.
  init(_ configuration: KafkaConfiguration) throws(KafkaError) {
    pointer = rd_kafka_conf_new()
    for property in configuration.properties {
      try set(property)
    }
  }

  deinit {
    rd_kafka_conf_destroy(pointer)
  }

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
    if result == RD_KAFKA_CONF_OK {
      return
    }
    // Secrets must not reach a log, and librdkafka's message repeats an invalid value.
    let isMasked = KafkaConfiguration.isMasked(property.name)
    let shown = isMasked ? "(not shown)" : "\"\(property.value)\""
    let isUnknown = result == RD_KAFKA_CONF_UNKNOWN
    throw .make(
      .invalidArgument,
      "set the property \(property.name) = \(shown)",
      detail: isMasked && !isUnknown ? "its value is not valid" : text
    )
  }
}
