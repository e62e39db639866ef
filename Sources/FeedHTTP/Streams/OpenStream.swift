import Feed
import FeedClient
import Service

extension ViewStanding {
  var standing: FeedStanding { description.standing }
  var version: FeedVersion { FeedVersion(description) }

  /// Whether a reader with a version has missed nothing.
  func includes(_ version: FeedVersion?) -> Bool {
    guard let version, version.epoch == description.epoch, since <= version.revision else { return false }
    return version.revision <= description.revision
  }
}

/// What a reader asks for.
struct FeedRequest: Sendable, Equatable {
  let feed: ByteText
  /// The partition that the feed is in; nil for the lowest that has it.
  var partition: Int32?
  var window: FeedWindow?
  /// The version that the reader has; nil for none.
  var version: FeedVersion?

  /// What is shown of the feed, in whatever partition it is.
  var view: FeedView { FeedView(FeedAddress(nil, feed), window) }
}

struct OpenStream: Sendable {
  struct Place: Sendable {
    var request: FeedRequest
    /// Where its reader is; nil while the feed is not served here.
    var feed: FeedAddress?
    /// The notice that the client was sent instead of the feed.
    var told: [UInt8]?
  }

  let stream: EventStream
  /// Nil for a stream of one feed, which ends with the feed.
  let id: String?
  /// What the client may read, by the newest token that it sent.
  var rights: AccessRights
  /// By the ids of the feeds.
  var places: [ByteText: Place] = [:]
  /// What it was asked to follow that the client may not read, by the ids of the feeds.
  var forbidden: [ByteText: FeedRequest] = [:]
  /// The views whose states it must be sent, and about how many items they have.
  private var lagging: [(view: FeedView, size: Int)] = []
  /// Whether states are being sent, or will be.
  var isServed = false

  init(_ stream: EventStream, id: String?) {
    self.stream = stream
    self.id = id
    rights = stream.rights
  }

  var isLagging: Bool { !lagging.isEmpty }

  mutating func lag(_ view: FeedView, size: Int) { lagging.append((view, size)) }

  /// Whether the smallest view is so large that encoding it takes long.
  var isNextLarge: Bool { lagging.map(\.size).min() ?? 0 > Self.smallSize }

  /// Items of a view whose state is encoded in a few milliseconds.
  private static let smallSize = 5_000

  mutating func forget(_ feed: ByteText) { lagging.removeAll { $0.view.feed.id == feed } }

  /// Takes out the smallest view, so that a large one does not delay others.
  mutating func takeSmallest() -> FeedView? {
    guard let index = lagging.indices.min(by: { lagging[$0].size < lagging[$1].size }) else { return nil }
    return lagging.remove(at: index).view
  }
}
