import Feed
import Oracle

/// The observable content of a partition's replicas, for a later comparison.
struct ReplicaContent: Equatable {
  /// One feed.
  struct Feed: Equatable {
    let feed: OracleFeed
    let checksum: UInt32
    var version: PublishedVersion
    let timeMilliseconds: Int64
    var isStale: Bool
  }

  private(set) var feeds: [ByteText: Feed] = [:]

  init(_ replicas: ReplicaPartition) throws(FuzzFailure) {
    for replica in replicas.replicas {
      guard let version = replicas.version(of: replica.feed) else {
        throw FuzzFailure("a replica without a version: \(replica.feed)")
      }
      feeds[ByteText(replica.feed)] = Feed(
        feed: try replica.snapshot().oracleFeed,
        checksum: replica.checksum,
        version: version,
        timeMilliseconds: replica.timeMilliseconds,
        isStale: replica.isStale
      )
    }
  }

  /// Without what a record may change although it is not applied: missed deltas, and the state of keys.
  var published: ReplicaContent {
    var content = self
    for (id, var feed) in feeds {
      feed.isStale = false
      feed.version = PublishedVersion(
        epoch: feed.version.epoch,
        revision: feed.version.revision,
        through: feed.version.through
      )
      content.feeds[id] = feed
    }
    return content
  }
}
