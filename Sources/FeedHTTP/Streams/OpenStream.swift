import Feed
import FeedClient
import HTTP

extension ViewStanding {
  var standing: FeedStanding { description.standing }
  var version: FeedVersion { FeedVersion(description) }

  /// Whether a reader with this version has missed nothing.
  func includes(_ version: FeedVersion?) -> Bool {
    guard let version, version.epoch == description.epoch, since <= version.revision else { return false }
    return version.revision <= description.revision
  }
}

/// A requested view of a feed.
struct FeedRequest: Sendable, Equatable {
  let feed: ByteText
  /// The client's name for the view; nil for the view without a name.
  var viewName: ByteText?
  /// The partition of the feed; nil for the lowest that has it.
  var partition: Int32?
  var window: FeedWindow?
  /// The version that the reader has; nil for none.
  var version: FeedVersion?

  var viewID: ViewID { ViewID(feed, viewName) }

  /// The requested view, in any partition.
  var view: ViewAddress { ViewAddress(FeedAddress(nil, feed), window) }
}

/// A view that a stream follows: a feed, and the client's name for the view of it, if any.
struct ViewID: Sendable, Hashable {
  let feed: ByteText
  let viewName: ByteText?

  init(_ feed: ByteText, _ viewName: ByteText? = nil) {
    self.feed = feed
    self.viewName = viewName
  }

  func reader(on number: Int) -> ReaderID { ReaderID(stream: number, viewName: viewName) }

  /// The member for each message, with a comma after it; empty without a name.
  var tag: [UInt8] { viewName.map { Array("\"view\":\(JSONData(string: $0.string)),".utf8) } ?? [] }
}

/// One reader of a feed.
struct ReaderID: Sendable, Hashable {
  /// The stream's number.
  let stream: Int
  var viewName: ByteText?

  func viewID(of feed: ByteText) -> ViewID { ViewID(feed, viewName) }
}

struct OpenStream: Sendable {
  struct FollowedView: Sendable {
    var request: FeedRequest
    /// The feed of its reader; nil while the feed is not served here.
    var feed: FeedAddress?
    /// The last notice that the client received instead of the feed.
    var told: [UInt8]?
  }

  let stream: EventStream
  /// Nil for a stream of one feed, which ends with it.
  let id: String?
  /// The client's rights by its newest token.
  var rights: AccessRights
  var followed: [ViewID: FollowedView] = [:]
  /// The requests for feeds that the client must not read.
  var forbidden: [ViewID: FeedRequest] = [:]
  /// The readers that need the states of their views, with approximate numbers of items.
  private var lagging: [(reader: ReaderID, view: ViewAddress, size: Int)] = []
  /// Whether states are being sent, or will be.
  var isServed = false

  init(_ stream: EventStream, id: String?) {
    self.stream = stream
    self.id = id
    rights = stream.rights
  }

  var isLagging: Bool { !lagging.isEmpty }

  mutating func lag(_ reader: ReaderID, _ view: ViewAddress, size: Int) {
    lagging.append((reader, view, size))
  }

  /// Whether the smallest view is so large that encoding it takes long.
  var isNextLarge: Bool { lagging.map(\.size).min() ?? 0 > Self.smallSize }

  /// Items of a view whose state is encoded in a few milliseconds.
  private static let smallSize = 5_000

  mutating func forget(_ reader: ReaderID, of feed: ByteText) {
    lagging.removeAll { $0.reader == reader && $0.view.feed.id == feed }
  }

  /// Removes and returns the reader of the smallest view, so that a large one does not delay others.
  mutating func takeSmallest() -> (reader: ReaderID, view: ViewAddress)? {
    guard let index = lagging.indices.min(by: { lagging[$0].size < lagging[$1].size }) else { return nil }
    let taken = lagging.remove(at: index)
    return (taken.reader, taken.view)
  }
}
