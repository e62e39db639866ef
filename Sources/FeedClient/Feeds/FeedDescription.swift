public import Feed

/// What is known of a feed besides its content.
public struct FeedDescription: Sendable, Equatable {
  /// The feed's id. Ids are compared by their bytes, which strings are not.
  public let feed: String
  /// The partition of the changesets topic that it is in.
  public let partition: Int32
  /// The offset before which everything that the partition has of the feed is in this.
  public let position: Int64
  /// Epoch, revision and `through`, and what the feed has on the topic since its last keyframe.
  public let version: PublishedVersion
  /// The `time` of the revision, in milliseconds since 1970.
  public let timeMilliseconds: Int64
  /// Sections of the feed.
  public let sectionCount: Int
  /// Items in all sections.
  public let itemCount: Int
  /// The checksum over order and kinds (protocol, section 4).
  public let checksum: UInt32
  /// Where the follower stands with it.
  public let standing: FeedStanding
  /// How its latest changeset was published, and why. Nil where the client does not follow feeds by name
  /// (``FeedClientOptions/feeds``), and for a feed that is as it was saved.
  public let lastChangeset: LastChangeset?

  /// The epoch as text: `topic/offset`.
  public var epoch: String { String(decoding: version.epoch, as: UTF8.self) }
  /// The number of the changeset within the epoch, from 1.
  public var revision: UInt64 { version.revision }
}
