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
