import Feed
import FeedClient
import FeedDaemon

/// The feeds that this instance serves, and its knowledge of others.
struct ServedFeeds: Sendable {
  let client: FeedClient
  let reloads: ReloadCache
  let moved: MovedFeeds
  /// The partitions to serve, and whether this set is final.
  let served: @Sendable () -> ServedPartitions

  /// Where a feed is served.
  enum Place: Equatable {
    case here(FeedStanding)
    /// Another instance serves its partition.
    case elsewhere(partition: Int32)
    /// Not known until all partitions have been read.
    case notYet
    case nowhere
  }

  func place(of feed: ByteText) -> Place {
    // Evaluated before the client's feeds, which change later.
    let isComplete = isComplete
    if let description = client.description(of: feed.string) {
      // Until its partition has been read to the end, a feed passes through old states.
      return description.standing == .bootstrapping ? .notYet : .here(description.standing)
    }
    if let partition = moved.partition(of: feed) { return .elsewhere(partition: partition) }
    return isComplete ? .nowhere : .notYet
  }

  /// The followed partitions.
  var partitions: [Int32] { client.partitions.map(\.number) }

  /// The standing over the partitions of the workers, whatever else is followed; `bootstrapping` until they are known.
  var standing: FeedStanding {
    let served = served()
    let followed = client.partitions.filter { served.served.contains($0.number) }
    guard served.isSettled, followed.count == served.served.count else { return .bootstrapping }
    return followed.map(\.standing).min() ?? .upToDate
  }

  /// Whether all feeds of this instance are known, also those on standby.
  private var isComplete: Bool {
    let served = served()
    let followed = client.partitions
    return served.isSettled && served.served.isSubset(of: followed.map(\.number))
      && followed.allSatisfy { $0.standing != .bootstrapping }
  }
}
