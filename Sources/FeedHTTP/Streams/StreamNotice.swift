import Feed
import FeedClient
import Service

/// Messages of a stream other than changesets (docs/http.md).
enum StreamNotice {
  /// Everything that was published has been sent.
  ///
  /// - Parameter partition: the feed's; nil if the feed was deleted.
  static func upToDate(_ feed: FeedAddress, _ version: FeedVersion, partition: Int32?) -> EncodedEvent {
    let place = partition.map { ",\"partition\":\($0)" } ?? ""
    return event(
      "up-to-date",
      """
      {"feed":\(quoted(feed.id.string))\(place),"epoch":\(quoted(version.epoch)),"revision":\(version.revision)}
      """
    )
  }

  /// The state sent so far is outdated.
  static func mustRefetch(_ feed: FeedAddress, reason: String) -> EncodedEvent {
    event("must-refetch", "{\"feed\":\(quoted(feed.id.string)),\"reason\":\(quoted(reason))}")
  }

  /// Further partitions have a feed of the same id, which is a mistake of producers.
  static func otherPartitions(_ feed: FeedAddress, _ others: [Int32]) -> EncodedEvent {
    let partition = feed.partition.map { "\"partition\":\($0)," } ?? ""
    return event(
      "other-partitions",
      "{\"feed\":\(quoted(feed.id.string)),\(partition)\"otherPartitions\":[\(SharedIDs.list(others))]}"
    )
  }

  /// Another instance serves the feed.
  ///
  /// - Parameter url: the address of that instance; nil if it is not known.
  static func moved(_ feed: ByteText, partition: Int32, url: String?) -> EncodedEvent {
    let place = url.map { ",\"url\":\(quoted($0))" } ?? ""
    return event("moved", "{\"feed\":\(quoted(feed.string)),\"partition\":\(partition)\(place)}")
  }

  private static func event(_ name: String, _ data: String) -> EncodedEvent {
    ServerSentEvent(name: name, data: Array(data.utf8)).encoded()
  }

  private static func quoted(_ text: String) -> String { JSONData(string: text).description }
}
