/// Where a follower stands: with a feed, or with all that it follows.
///
/// A feed stands where its partition stands, unless it must be fetched anew. All that is followed stands where
/// the partition does that is furthest behind.
public enum FeedStanding: Int, Sendable, Comparable, CaseIterable {
  /// Changesets of the feed were missed or do not fit. What is known of it is old, and nothing can be done
  /// until its next reload comes.
  case mustRefetch
  /// A partition has not been read to its end yet, so its feeds are not known yet.
  case bootstrapping
  /// The partition was read to its end before, and more has come.
  case catchingUp
  /// Everything that the brokers have told of was read.
  case upToDate

  /// Orders by how far behind it is, the furthest first.
  public static func < (left: FeedStanding, right: FeedStanding) -> Bool { left.rawValue < right.rawValue }

  /// The standing in words.
  public var text: String {
    switch self {
    case .mustRefetch: "must refetch"
    case .bootstrapping: "bootstrapping"
    case .catchingUp: "catching up"
    case .upToDate: "up to date"
    }
  }
}
