import CRdkafka

/// librdkafka's configuration object: destroyed with this value unless a client has taken it over.
struct ConfigurationHandle: ~Copyable {
  let pointer: OpaquePointer

  /// Makes the object and sets every property.
  ///
  /// - Throws: `_INVALID_ARG` naming the property and its value.
  init(_ configuration: KafkaConfiguration) throws(KafkaError) {
    pointer = rd_kafka_conf_new()
    for property in configuration.properties {
      try set(property)
    }
  }

  deinit {
    rd_kafka_conf_destroy(pointer)
  }

  /// Makes a client, which owns the configuration from then on; if that fails, it is destroyed here.
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
    // A secret must not end in a log, and librdkafka's text for a bad value repeats the value.
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
