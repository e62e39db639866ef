import CRdkafka

/// The C library behind the clients.
public enum Librdkafka {
  /// The version that is loaded, such as `2.0.2`. It may be newer than the one used for the build.
  public static var version: String { String(cString: rd_kafka_version_str()) }
}
