import CBuild
import Kafka

/// What this release of FeedStore is called.
package enum Release {
  package static let version = "0.1.0"

  /// The commit it was built from, with `-dirty` if the sources differed from it; `unknown` if the build did not say.
  package static let commit = String(cString: feedstore_commit())

  /// What `feedstore --version` prints after the name: `0.1.0 (commit 0123456789ab, librdkafka 2.0.2)`.
  package static var description: String { "\(version) (commit \(commit), librdkafka \(Librdkafka.version))" }
}
