public import Feed

/// A feed's id, version, size and standing, without its content.
public struct FeedDescription: Sendable, Equatable {
  /// The feed's id. Feed ids are compared by their bytes, unlike Swift strings.
  public let feed: String
  /// The partition of the changesets topic that it is in.
  public let partition: Int32
  /// Everything that the partition has about the feed before this offset is included.
  public let position: Int64
  /// Epoch, revision and `through`, and the feed's records on the topic since its last keyframe.
  public let version: PublishedVersion
  /// The `time` of the revision, in milliseconds since 1970.
  public let timeMilliseconds: Int64
  /// Sections of the feed.
  public let sectionCount: Int
  /// Items in all sections.
  public let itemCount: Int
  /// The checksum over order and kinds (protocol, section 4.3).
  public let checksum: UInt32
  /// How far behind the follower is with this feed.
  public let standing: FeedStanding
  /// Why the state is outdated until the next reload; nil if it is not.
  public let outdated: String?
  /// How the latest changeset was published, and why. Nil if the client does not follow feeds by name
  /// (``FeedClientOptions/feeds``) or has adopted the feed and not seen a change of it since.
  public let lastChangeset: LastChangeset?

  /// The epoch as text: `topic/offset`.
  public var epoch: String { String(decoding: version.epoch, as: UTF8.self) }
  /// The number of the changeset within the epoch, from 1.
  public var revision: UInt64 { version.revision }
}
