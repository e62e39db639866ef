/// Why a feed is published as a whole: the reasons of the protocol, section 4.4.
public enum ReloadReason: String, Sendable, CaseIterable {
  /// Nothing of this epoch was published before.
  case initial
  /// `feed.reload` asked for it.
  case requested
  /// Both sides have items, and none in common.
  case disjoint
  /// The weight is over `planner.maxChanges`.
  case changes
  /// The weight is over `planner.maxChangedFraction` of the items.
  case fraction
  /// More than `planner.maxKindFraction` of the items changed their kind.
  case kinds
  /// The difference would be larger than `planner.maxBytesRatio` times the reload.
  case bytes
  /// The state is written out again, so that the compacted topic stays small.
  case keyframe

  var name: StaticString {
    switch self {
    case .initial: "initial"
    case .requested: "requested"
    case .disjoint: "disjoint"
    case .changes: "changes"
    case .fraction: "fraction"
    case .kinds: "kinds"
    case .bytes: "bytes"
    case .keyframe: "keyframe"
    }
  }
}
