import Feed
import FeedClient
import FeedDaemon

/// Which feeds this instance serves, and what is known of the others.
struct ServedFeeds: Sendable {
  let client: FeedClient
  let reloads: ReloadCache
  let moved: MovedFeeds
  /// Partitions to serve, and whether that will not change by itself.
  let served: @Sendable () -> ServedPartitions

  /// Where a feed is.
  enum Place: Equatable {
    case here(FeedStanding)
    /// Another instance has its partition.
    case elsewhere(partition: Int32)
    /// That is not known until all partitions were read.
    case notYet
    case nowhere
  }

  func place(of feed: ByteText) -> Place {
    // Asked before what the client knows, which comes later.
    let isComplete = isComplete
    if let description = client.description(of: feed.string) {
      // Until its partition was read to the end, a feed passes through states that it had.
      return description.standing == .bootstrapping ? .notYet : .here(description.standing)
    }
    if let partition = moved.partition(of: feed) { return .elsewhere(partition: partition) }
    return isComplete ? .nowhere : .notYet
  }

  /// The partitions that are followed.
  var partitions: [Int32] { client.partitions.map(\.number) }

  /// Where the following stands, as far as it is known what is to be followed.
  var standing: FeedStanding { isComplete ? client.standing : .bootstrapping }

  /// Whether all feeds that this instance is to serve are known.
  private var isComplete: Bool {
    let served = served()
    let followed = client.partitions
    return served.isSettled && Set(followed.map(\.number)) == served.served
      && followed.allSatisfy { $0.standing != .bootstrapping }
  }
}
