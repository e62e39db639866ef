import Feed
import FeedClient
import HTTP
import OperatingSystem
import Synchronization

/// All feeds in the order of their ids. The list is rebuilt on demand after it has expired.
final class FeedListing: Sendable {
  /// The feeds at one moment.
  struct Feeds: Sendable {
    /// Sorted by the bytes of their ids; feeds with the same id by partition.
    let all: [FeedDescription]
    let sectionCount: Int
    let itemCount: Int
  }

  struct Page {
    let feeds: [FeedDescription]
    /// The number of feeds on all pages.
    let count: Int
    let hasMore: Bool
  }

  private let client: FeedClient
  /// The latest list. Milliseconds of the monotonic clock.
  private let made = Mutex<(feeds: Feeds, validUntil: Int64)?>(nil)

  /// The minimum lifetime of a list, in milliseconds.
  private static let leastAge: Int64 = 250
  /// A list lives at least this many times as long as it took to build: building takes a tenth of a thread.
  private static let ageFactor: Int64 = 10

  init(_ client: FeedClient) { self.client = client }

  /// The feeds, as of the last rebuild.
  var feeds: Feeds {
    // Built under the lock, so that concurrent requests wait for the same list.
    made.withLock { made in
      let start = MonotonicClock.milliseconds()
      if let made, made.validUntil > start { return made.feeds }
      let feeds = Self.sorted(client.feeds())
      let end = MonotonicClock.milliseconds()
      made = (feeds, validUntil: end + max(Self.leastAge, Self.ageFactor * (end - start)))
      return feeds
    }
  }

  /// A page of the feeds.
  ///
  /// - Parameters:
  ///   - rights: the client's rights.
  ///   - partition: begins with higher partitions that have the same id; nil to begin with the next id.
  ///   - search: a text that the ids must contain, ignoring the case of ASCII letters; nil for all feeds.
  func page(
    _ rights: AccessRights,
    after: String?,
    partition: Int32?,
    search: String?,
    limit: Int
  ) -> Page {
    var feeds = feeds.all[...]
    if !rights.readsAll { feeds = feeds.filter { rights.mayRead($0.feed) }[...] }
    if let search, !search.isEmpty {
      let wanted = search.utf8.map(Self.lowercased)
      feeds = feeds.filter { Self.contains($0.feed, wanted) }[...]
    }
    let count = feeds.count
    if let after {
      let after = (ByteText(after), partition ?? .max)
      var (low, high) = (feeds.startIndex, feeds.endIndex)
      while low < high {
        let middle = (low + high) / 2
        let isBehind = after < (ByteText(feeds[middle].feed), feeds[middle].partition)
        if isBehind { high = middle } else { low = middle + 1 }
      }
      feeds = feeds[low...]
    }
    return Page(feeds: Array(feeds.prefix(limit)), count: count, hasMore: feeds.count > limit)
  }

  private static func sorted(_ descriptions: [FeedDescription]) -> Feeds {
    let sorted = descriptions.map { (ByteText($0.feed), $0) }.sorted {
      ($0.0, $0.1.partition) < ($1.0, $1.1.partition)
    }
    let all = sorted.map(\.1)
    return Feeds(
      all: all,
      sectionCount: all.reduce(0) { $0 + $1.sectionCount },
      itemCount: all.reduce(0) { $0 + $1.itemCount }
    )
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }

  /// Whether a text contains these lower-case bytes, of which there is at least one. Copies nothing, because it is
  /// called for every feed.
  private static func contains(_ text: String, _ wanted: [UInt8]) -> Bool {
    var text = text
    return text.withUTF8 { text in
      guard text.count >= wanted.count else { return false }
      for start in 0...(text.count - wanted.count) {
        var length = 0
        while length < wanted.count, lowercased(text[start + length]) == wanted[length] { length += 1 }
        if length == wanted.count { return true }
      }
      return false
    }
  }
}
