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

/// A feed at one moment: its description and its content.
public struct FeedContent: Sendable {
  /// The feed's id, version, size and standing.
  public let description: FeedDescription
  /// The sections and items. The snapshot shares its storage with the replica, which copies it if the feed changes
  /// while the snapshot is held.
  public let snapshot: Snapshot
  /// The snapshot's changeset of mode `reload`, if it is that of a window.
  let document: [UInt8]?

  init(description: FeedDescription, snapshot: Snapshot, document: [UInt8]? = nil) {
    self.description = description
    self.snapshot = snapshot
    self.document = document
  }

  /// The whole feed, or what a window shows of it, as one changeset of mode `reload` and reason `keyframe`, for followers that start with this
  /// revision: JSON in UTF-8. It is encoded on the caller's thread by each call, in O(n) for n elements.
  ///
  /// - Parameter window: what is written of a whole feed, with the window's checksum; nil for everything.
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
  /// What a window shows of the feed. O(n) for the n elements shown.
  package func shown(in window: FeedWindow) -> FeedContent {
    let document = reloadDocument(window)
    return ShownFeed(FeedContent(description: description, snapshot: Snapshot(), document: document)).content
  }
}

/// A feed as a reader sees it.
package struct FeedView: Sendable, Hashable {
  package let feed: FeedAddress
  /// What of the feed is shown; nil for all of it.
  package let window: FeedWindow?

  package init(_ feed: FeedAddress, _ window: FeedWindow? = nil) {
    self.feed = feed
    self.window = window
  }
}

/// What a client knows of a view at one moment.
package struct ViewStanding: Sendable {
  /// The feed's.
  package let description: FeedDescription
  /// The revision at which the view changed last, or at which its window was opened.
  package let since: UInt64
  /// The member `window` of the window's changesets, as it would be now: JSON text. Nil without a window, and
  /// unless it was asked for.
  package var totals: [UInt8]?
}

/// A changeset from the topic, decoded, with its bytes.
public struct FeedChangeset: Sendable {
  /// Feed, epoch, revision, base, mode, reason, time, and the entries in `difference`, which is nil for a reload, and if no
  /// subscriber has asked for differences.
  public let change: ReplicaChange
  /// The bytes of the records' values, UTF-8 text of JSON: one, or the parts in their order.
  public let values: [[UInt8]]
  /// The planner's figures from the header `feedstore.plan`; nil if the header is absent or not valid.
  public let plan: ChangesetPlan?
  /// The partition of the changesets topic.
  public let partition: Int32
  /// The offset of the record, or of the record with the last part.
  public let offset: Int64
  /// What it changes in windows that are open; nothing for others.
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
  /// Why it is a reload; nil for other modes.
  public let reason: ReloadReason?
  /// The figures in the header `feedstore.plan`; nil if the header is absent or not valid.
  public let plan: ChangesetPlan?
}

/// How far behind a follower is, with one feed or with everything that it follows.
///
/// A feed has the standing of its partition, unless it must be fetched again. The standing of a client is that of the
/// partition that is furthest behind.
public enum FeedStanding: Int, Sendable, Comparable, CaseIterable {
  /// Changesets of the feed were missed or do not fit. Its state is outdated until the next reload arrives.
  case mustRefetch
  /// The partition has not been read to its end yet, so its feeds are not known yet.
  case bootstrapping
  /// The partition had been read to its end, and newer records have been reported.
  case catchingUp
  /// Everything that the brokers have reported has been read.
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

/// How far a partition of the changesets topic was followed.
public struct PartitionDescription: Sendable, Equatable {
  /// The partition's number.
  public let number: Int32
  /// Everything before this offset was read.
  public let position: Int64
  /// How far behind the follower is with this partition; never `mustRefetch`.
  public let standing: FeedStanding
}
