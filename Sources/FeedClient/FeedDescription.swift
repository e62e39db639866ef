public import Feed

/// A feed's id, version, size and standing, without its content.
public struct FeedDescription: Sendable, Equatable {
  /// The feed's id. Feed ids are compared by their bytes, unlike Swift strings.
  public let feed: String
  /// The feed's partition of the changesets topic.
  public let partition: Int32
  /// The description includes all records of the partition before this offset.
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
  /// (``FeedClientOptions/feeds``), or has adopted the feed and not received a change since.
  public let lastChangeset: LastChangeset?

  /// The epoch as text: `topic/offset`.
  public var epoch: String { String(decoding: version.epoch, as: UTF8.self) }
  /// The number of the changeset within the epoch, from 1.
  public var revision: UInt64 { version.revision }
}

/// A feed at one moment: its description and its content.
public struct FeedContent: Sendable {
  /// The feed's id, version, size and standing.
  public let description: FeedDescription
  /// The sections and items. The snapshot shares its storage with the replica, which copies it if the feed changes
  /// while the snapshot is held.
  public let snapshot: Snapshot
  /// The snapshot's changeset of mode `reload`, if it is a window's.
  let document: [UInt8]?

  init(description: FeedDescription, snapshot: Snapshot, document: [UInt8]? = nil) {
    self.description = description
    self.snapshot = snapshot
    self.document = document
  }

  /// The whole feed, or a window of it, as one changeset of mode `reload` and reason `keyframe`, for followers that start with this revision:
  /// JSON in UTF-8. It is encoded on the caller's thread by each call, in O(n) for n elements.
  ///
  /// - Parameter window: the part of a whole feed to write, with the window's checksum; nil for everything.
  public func reloadDocument(_ window: FeedWindow? = nil) -> [UInt8] {
    if let document { return document }
    return snapshot.reload(
      of: description.feed,
      version: description.version,
      timeMilliseconds: description.timeMilliseconds,
      window: window
    )
  }
}

extension FeedContent {
  /// The feed's content in a window. O(n) for the n shown elements.
  package func shown(in window: FeedWindow) -> FeedContent {
    let document = reloadDocument(window)
    return ShownFeed(FeedContent(description: description, snapshot: Snapshot(), document: document)).content
  }
}

/// A feed, or a window of it, for a reader.
package struct ViewAddress: Sendable, Hashable {
  package let feed: FeedAddress
  /// The shown part of the feed; nil for all of it.
  package let window: FeedWindow?

  package init(_ feed: FeedAddress, _ window: FeedWindow? = nil) {
    self.feed = feed
    self.window = window
  }
}

/// A client's knowledge of a view at one moment.
package struct ViewStanding: Sendable {
  /// The description of the feed.
  package let description: FeedDescription
  /// The revision of the view's last change, or at which its window was opened.
  package let since: UInt64
  /// The current member `window` for the window's changesets: JSON text. Nil without a window, and unless it
  /// was requested.
  package var totals: [UInt8]?
}

/// A changeset from the topic, decoded, with its bytes.
public struct FeedChangeset: Sendable {
  /// Feed, epoch, revision, base, mode, reason, time, and the entries in `difference`, which is nil for a reload, and if no
  /// subscriber requested differences.
  public let change: ReplicaChange
  /// The bytes of the records' values, UTF-8 text of JSON: one, or the parts in their order.
  public let values: [[UInt8]]
  /// The planner's figures from the header `feedstore.plan`; nil if the header is absent or not valid.
  public let plan: ChangesetPlan?
  /// The partition of the changesets topic.
  public let partition: Int32
  /// The offset of the record, or of the record with the last part.
  public let offset: Int64
  /// Its changes of open windows; absent for unchanged ones.
  package internal(set) var windows: [FeedWindow: WindowChangeset] = [:]

  /// Creates a changeset, also for tests of subscribers.
  public init(
    change: ReplicaChange,
    values: [[UInt8]],
    plan: ChangesetPlan? = nil,
    partition: Int32,
    offset: Int64
  ) {
    self.change = change
    self.values = values
    self.plan = plan
    self.partition = partition
    self.offset = offset
  }
}

/// How the latest changeset of a feed was published, and why.
public struct LastChangeset: Sendable, Equatable {
  public let mode: ChangesetMode
  /// The reason for a reload; nil for other modes.
  public let reason: ReloadReason?
  /// The figures in the header `feedstore.plan`; nil if the header is absent or not valid.
  public let plan: ChangesetPlan?
}

/// How far behind a follower is, for one feed or for all that it follows.
///
/// A feed has the standing of its partition, unless it must be fetched again. A client has its slowest partition's
/// standing.
public enum FeedStanding: Int, Sendable, Comparable, CaseIterable {
  /// Changesets of the feed were missed or do not fit. Its state is outdated until the next reload arrives.
  case mustRefetch
  /// The partition has not been read to its end, so its feeds are not yet known.
  case bootstrapping
  /// The partition had been read to its end, and newer records have been reported.
  case catchingUp
  /// All records reported by the brokers have been read.
  case upToDate

  /// Orders standings by how far behind they are, the furthest first.
  public static func < (left: FeedStanding, right: FeedStanding) -> Bool { left.rawValue < right.rawValue }

  /// The standing in words, for messages.
  public var text: String {
    switch self {
    case .mustRefetch: "must refetch"
    case .bootstrapping: "bootstrapping"
    case .catchingUp: "catching up"
    case .upToDate: "up to date"
    }
  }
}

/// A feed of one partition. The same id in two partitions denotes two feeds (protocol, section 1.1).
package struct FeedAddress: Sendable, Hashable {
  /// Nil for a feed that is in no partition.
  package let partition: Int32?
  package let id: ByteText

  package init(_ partition: Int32?, _ id: ByteText) {
    self.partition = partition
    self.id = id
  }
}

/// The progress in a partition of the changesets topic.
public struct PartitionDescription: Sendable, Equatable {
  /// The partition's number.
  public let number: Int32
  /// All records before this offset were read.
  public let position: Int64
  /// How far behind the follower is with this partition; never `mustRefetch`.
  public let standing: FeedStanding
}
