import Feed
import FeedStore
import Kafka
import OperatingSystem
package import Settings

extension FeedStoreConfiguration {
  /// The bytes of an output record other than an entry's data: the head, ids, kinds and positions. See `TopicOffset`
  /// for the sum.
  static let messageOverhead = 65_536

  /// Rejects limits with which one entry might not fit in a message, because an entry is never split.
  func checkSizes(_ reader: ConfigurationReader) throws(ConfigurationError) {
    let data = store.limits.maxDataBytes
    let message = store.output.maxMessageBytes
    // Compared by subtraction, because a sum could overflow.
    guard data > message - Self.messageOverhead else { return }
    throw ConfigurationError(
      """
      limits.maxDataBytes is \(data) (\(reader.place(of: "limits.maxDataBytes"))) \
      and output.maxMessageBytes is \(message) (\(reader.place(of: "output.maxMessageBytes"))); \
      limits.maxDataBytes + \(Self.messageOverhead) must be at most output.maxMessageBytes, \
      so that an entry always fits: lower limits.maxDataBytes to at most \(message - Self.messageOverhead), \
      or raise output.maxMessageBytes to at least \(data + Self.messageOverhead)
      """
    )
  }

  /// Rejects topic names that would read output as input, or mix the two outputs.
  ///
  /// The two inputs may be one topic: any event is accepted from either.
  func checkTopics(_ reader: ConfigurationReader) throws(ConfigurationError) {
    let topics = store.topics
    let inputs = [("topics.sections", topics.sections), ("topics.items", topics.items)]
    try check("topics.changesets", topics.changesets, differsFrom: inputs, reader)
    let others = inputs + [("topics.changesets", topics.changesets)]
    try check("topics.rejected", topics.rejected, differsFrom: others, reader)
    guard let contents = topics.contents else { return }
    try check(
      "topics.contents",
      contents,
      differsFrom: others + [("topics.rejected", topics.rejected)],
      reader
    )
  }

  /// Rejects settings that make librdkafka load libraries, unless they are allowed: such a configuration executes code.
  func checkPlugins(_ reader: ConfigurationReader) throws(ConfigurationError) {
    guard !allowsPlugins else { return }
    for pair in kafka where Self.libraryNames.contains(pair.name) && !pair.value.isEmpty {
      let key = "kafka." + pair.name
      throw ConfigurationError(
        "\(key) would load a library into this process; remove it, or allow it with kafka.allowPlugins: true",
        place: reader.place(of: key)
      )
    }
  }

  /// Rejects OAUTHBEARER without a source of tokens, and a command for another mechanism.
  func checkOAuth() throws(ConfigurationError) {
    let values = Dictionary(kafka.map { ($0.name, $0.value.lowercased()) }) { $1 }
    let isUsed =
      (values["sasl.mechanisms"] ?? values["sasl.mechanism"]) == "oauthbearer"
      && values["security.protocol"]?.hasPrefix("sasl_") == true
    // librdkafka's own sources.
    let hasOther =
      values["sasl.oauthbearer.method"] == "oidc" || values["enable.sasl.oauthbearer.unsecure.jwt"] == "true"
    guard oauthCommand.isEmpty ? !isUsed || hasOther : isUsed && !hasOther else {
      throw ConfigurationError(
        "kafka.oauth.command is \(oauthCommand.isEmpty ? "not set" : "set"), and it goes with kafka.sasl.mechanism OAUTHBEARER, "
          + "kafka.security.protocol sasl_ssl or sasl_plaintext, and no other source of tokens under kafka.sasl; correct these"
      )
    }
  }

  private static let libraryNames = ["plugin.library.paths", "ssl.engine.location"]

  private func check(
    _ key: String,
    _ name: String,
    differsFrom others: [(key: String, name: String)],
    _ reader: ConfigurationReader
  ) throws(ConfigurationError) {
    for other in others where other.name == name {
      throw ConfigurationError(
        """
        \(key) is "\(name)" (\(reader.place(of: key))), \
        and so is \(other.key) (\(reader.place(of: other.key))); \
        allowed: another topic than \(others.map(\.key).joined(separator: ", "))
        """
      )
    }
  }

  /// Whether a key's value is hidden in messages and listings: secrets, values derived from them, and properties under
  /// `kafka.` that librdkafka does not know.
  static func isMasked(_ key: String) -> Bool {
    let section = "kafka."
    guard key.hasPrefix(section), !ownKafkaKeys.contains(key) else { return SecretKey.isMasked(key) }
    return SecretKey.isMasked(key) || KafkaConfiguration.isMasked(String(key.dropFirst(section.count)))
  }

  private static let ownKafkaKeys = ["kafka.onLostInput", "kafka.allowPlugins"]

  /// Rejects private key files that cannot be read, or that other users can read.
  package func checkKeyFiles() throws(ConfigurationError) {
    for pair in kafka where Self.keyFileNames.contains(pair.name) && !pair.value.isEmpty {
      let key = "kafka." + pair.name
      do throws(FileError) {
        try SecretFile.check(pair.value)
      } catch {
        throw ConfigurationError("\(key): \(error)")
      }
    }
  }

  private static let keyFileNames = ["ssl.key.location", "ssl.keystore.location", "sasl.kerberos.keytab"]
}
