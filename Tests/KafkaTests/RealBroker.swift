import Glibc

/// The Kafka cluster for tests, if there is one besides the embedded one.
enum RealBroker {
  static let bootstrapServers = getenv("FEEDSTORE_TEST_BOOTSTRAP").map { String(cString: $0) }
}
