import Feed
import FeedClient
import FeedWorker

/// The feeds that this instance serves, and its knowledge of others.
struct ServedFeeds: Sendable {
  let client: FeedClient
  let reloads: ReloadCache
  let moved: MovedFeeds
  /// The partitions to serve, and whether this set is final.
  let served: @Sendable () -> ServedPartitions

  /// Where a feed is served.
  enum Place: Equatable {
    case here(FeedDescription)
    /// Another instance serves its partition.
    case elsewhere(partition: Int32)
    /// Not known until all partitions have been read.
    case notYet
    case nowhere
  }

  /// - Parameter partition: nil for the lowest that has the feed, here or elsewhere. So an instance does not answer for
  ///   another one's feed with a different feed of the same id.
  func place(of feed: ByteText, in partition: Int32? = nil) -> Place {
    // Evaluated before the client's feeds, which change later.
    let isComplete = isComplete
    let moved = moved.partitions(of: feed)
    if let number = partition ?? moved.union(client.partitions(of: feed.string)).min() {
      if let description = client.description(of: feed.string, in: number) {
        // Until its partition has been read to the end, a feed passes through old states.
        return description.standing == .bootstrapping ? .notYet : .here(description)
      }
      if moved.contains(number) { return .elsewhere(partition: number) }
    }
    return isComplete ? .nowhere : .notYet
  }

  /// The other partitions with a feed of the same id, as far as this instance knows.
  func otherPartitions(_ feed: FeedDescription) -> [Int32] {
    moved.partitions(of: ByteText(feed.feed)).union(client.partitions(of: feed.feed))
      .subtracting([feed.partition]).sorted()
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
