import CRdkafka

/// The librdkafka that runs.
public enum KafkaLibrary {
  /// Such as `2.0.2`.
  public static var version: String { String(cString: rd_kafka_version_str()) }
}
