import Glibc

/// The Kafka cluster that tests may use besides the embedded one, if there is any.
enum RealBroker {
  static let bootstrapServers = getenv("FEEDSTORE_TEST_BOOTSTRAP").map { String(cString: $0) }
}
