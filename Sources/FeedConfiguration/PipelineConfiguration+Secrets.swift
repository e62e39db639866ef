import Kafka
import Service

extension PipelineConfiguration {
  /// Whether the value of a key is left out of messages and listings: secrets, what is said of them, and what is set
  /// under `kafka.` that librdkafka does not know.
  static func isMasked(_ key: String) -> Bool {
    let section = "kafka."
    guard key.hasPrefix(section), !ownKafkaKeys.contains(key) else { return SecretKey.isMasked(key) }
    return SecretKey.isMasked(key) || KafkaConfiguration.isMasked(String(key.dropFirst(section.count)))
  }

  private static let ownKafkaKeys = ["kafka.onLostInput", "kafka.allowPlugins"]

  /// Refuses files with private keys that others may read.
  func checkKeyFiles() throws(ConfigurationError) {
    for pair in kafka where Self.keyFileNames.contains(pair.name) && !pair.value.isEmpty {
      let key = "kafka." + pair.name
      do throws(FileError) {
        try SecretFile.check(pair.value)
      } catch {
        throw ConfigurationError(error.isExposed ? .exposed : .unreadable, "\(key): \(error)", key: key)
      }
    }
  }

  private static let keyFileNames = ["ssl.key.location", "ssl.keystore.location", "sasl.kerberos.keytab"]
}
