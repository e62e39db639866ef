import Kafka
import Service

extension FeedStoreConfiguration {
  /// Whether a key's value is hidden in messages and listings: secrets, values derived from them, and properties under
  /// `kafka.` that librdkafka does not know.
  static func isMasked(_ key: String) -> Bool {
    let section = "kafka."
    guard key.hasPrefix(section), !ownKafkaKeys.contains(key) else { return SecretKey.isMasked(key) }
    return SecretKey.isMasked(key) || KafkaConfiguration.isMasked(String(key.dropFirst(section.count)))
  }

  private static let ownKafkaKeys = ["kafka.onLostInput", "kafka.allowPlugins"]

  /// Rejects private key files that other users can read.
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
