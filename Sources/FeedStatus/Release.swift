import CBuild
import Kafka

/// The name of this release of FeedStore.
package enum Release {
  package static let version = "0.1.0"

  /// The commit of the build, with `-dirty` if the sources differed from it; `unknown` if the build has no commit.
  package static let commit = String(cString: feedstore_commit())

  /// The output of `feedstore --version` after the name: `0.1.0 (commit 0123456789ab, librdkafka 2.0.2)`.
  package static var description: String { "\(version) (commit \(commit), librdkafka \(Librdkafka.version))" }
}
