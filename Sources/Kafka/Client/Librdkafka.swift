import CRdkafka

/// The C library behind the clients.
public enum Librdkafka {
  /// The version that the process runs with, such as `2.0.2`; it may be newer than the one it was built with.
  public static var version: String { String(cString: rd_kafka_version_str()) }
}
