import CRdkafka

/// The answer to an admin request: librdkafka's event, destroyed with this object.
final class AdminAnswer {
  private let event: OpaquePointer

  init(taking event: OpaquePointer) {
    self.event = event
  }

  deinit {
    rd_kafka_event_destroy(event)
  }

  /// Why the request as a whole failed; nil if the brokers answered it.
  var failure: AdminRequest.Failure? {
    let code = rd_kafka_event_error(event)
    guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
    let text = rd_kafka_event_error_string(event).map { String(cString: $0) }
    return AdminRequest.Failure(code: KafkaErrorCode(code), detail: text)
  }

  /// The result for each topic to create; the error is nil if it was created.
  var createdTopics: [(topic: String, error: KafkaError?)] {
    guard let result = rd_kafka_event_CreateTopics_result(event) else { return [] }
    var count = 0
    return Self.results(rd_kafka_CreateTopics_result_topics(result, &count), count, "create")
  }

  /// The result for each topic to delete; the error is nil if it was deleted.
  var deletedTopics: [(topic: String, error: KafkaError?)] {
    guard let result = rd_kafka_event_DeleteTopics_result(event) else { return [] }
    var count = 0
    return Self.results(rd_kafka_DeleteTopics_result_topics(result, &count), count, "delete")
  }

  private static func results(
    _ topics: UnsafeMutablePointer<OpaquePointer?>?,
    _ count: Int,
    _ verb: String
  ) -> [(topic: String, error: KafkaError?)] {
    (0..<count).compactMap { index in
      guard let topic = topics?[index], let name = rd_kafka_topic_result_name(topic) else { return nil }
      let text = String(cString: name)
      let error = Self.error(
        rd_kafka_topic_result_error(topic),
        rd_kafka_topic_result_error_string(topic),
        "\(verb) topic \(text)"
      )
      return (text, error)
    }
  }

  /// The settings of each requested topic, or the error.
  var configurations: [String: Result<[String: String], KafkaError>] {
    guard let result = rd_kafka_event_DescribeConfigs_result(event) else { return [:] }
    var count = 0
    let resources = rd_kafka_DescribeConfigs_result_resources(result, &count)
    var configurations: [String: Result<[String: String], KafkaError>] = [:]
    for index in 0..<count {
      guard let resource = resources?[index], let name = rd_kafka_ConfigResource_name(resource) else {
        continue
      }
      let topic = String(cString: name)
      let error = Self.error(
        rd_kafka_ConfigResource_error(resource),
        rd_kafka_ConfigResource_error_string(resource),
        "read the settings of topic \(topic)"
      )
      configurations[topic] = error.map { .failure($0) } ?? .success(Self.settings(of: resource))
    }
    return configurations
  }

  private static func settings(of resource: OpaquePointer) -> [String: String] {
    var count = 0
    let entries = rd_kafka_ConfigResource_configs(resource, &count)
    var settings: [String: String] = [:]
    for index in 0..<count {
      guard let entry = entries?[index], rd_kafka_ConfigEntry_is_sensitive(entry) != 1,
        let name = rd_kafka_ConfigEntry_name(entry), let value = rd_kafka_ConfigEntry_value(entry)
      else { continue }
      settings[String(cString: name)] = String(cString: value)
    }
    return settings
  }

  private static func error(
    _ code: rd_kafka_resp_err_t,
    _ text: UnsafePointer<CChar>?,
    _ action: String
  ) -> KafkaError? {
    guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
    return .make(KafkaErrorCode(code), action, detail: text.map { String(cString: $0) })
  }
}
