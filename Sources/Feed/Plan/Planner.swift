/// The known properties of a changeset before its difference is computed.
struct PlannedChange {
  var isInitial: Bool
  var isReloadRequested: Bool
  var publishedItemCount: Int
  var itemCount: Int
  var tally: DifferenceTally

  /// The reason for a reload at any cost; with nil the difference must be weighed.
  var certainReason: ReloadReason? {
    if isInitial { return .initial }
    if isReloadRequested { return .requested }
    return publishedItemCount > 0 && itemCount > 0 && tally.commonItemCount == 0 ? .disjoint : nil
  }
}

extension WeighedDifference {
  /// The reason for a reload instead of a difference with entries other than `reconfigure`: the first that
  /// applies (protocol, section 4.4); nil to publish the difference.
  package var reason: ReloadReason? {
    // A large change does not justify a reload that is much larger still.
    let isWorthwhile = Double(reloadBytes) <= thresholds.maxReloadRatio * Double(differenceBytes)
    if isWorthwhile {
      if weight > thresholds.maxChanges { return .changes }
      // Without items, any weight exceeds every fraction: the quotient is infinite.
      if items >= thresholds.minimumItems,
        Double(weight) / Double(items) > thresholds.maxChangedFraction
      {
        return .fraction
      }
    }
    // If no items result, none changed its kind.
    if items >= thresholds.minimumItems, itemsAfter > 0,
      Double(changedKinds) / Double(itemsAfter) > thresholds.maxKindFraction
    {
      return .kinds
    }
    return Double(differenceBytes) > thresholds.maxBytesRatio * Double(reloadBytes) ? .bytes : nil
  }
}

/// When a changeset is published as a full reload instead of a difference.
public struct PlannerThresholds: Sendable, Equatable {
  /// Reload when the weight (entries other than `reconfigure`) is greater than this, if ``maxReloadRatio`` allows it.
  public var maxChanges = 5000
  /// Reload when weight divided by the larger item count is greater than this, if ``maxReloadRatio`` allows it.
  public var maxChangedFraction = 0.5
  /// A large weight is not a reason for a reload of more than this many times the difference's bytes.
  public var maxReloadRatio = 3.0
  /// The fractions apply only to feeds of at least this many items, before or after.
  public var minimumItems = 50
  /// Reload when more than this fraction of the resulting items changed their kind.
  public var maxKindFraction = 0.5
  /// Reload when the difference's bytes are more than this many times the reload's.
  public var maxBytesRatio = 1.5

  public init() {}

  /// Calls one of the closures with each threshold and its name, in the order of the header `feedstore.plan`.
  /// This list defines the thresholds of the header, the configuration and the status.
  package mutating func forEachFigure<Failure>(
    count: (StaticString, inout Int) throws(Failure) -> Void,
    ratio: (StaticString, inout Double) throws(Failure) -> Void
  ) throws(Failure) {
    try count("maxChanges", &maxChanges)
    try ratio("maxChangedFraction", &maxChangedFraction)
    try count("minimumItems", &minimumItems)
    try ratio("maxKindFraction", &maxKindFraction)
    try ratio("maxReloadRatio", &maxReloadRatio)
    try ratio("maxBytesRatio", &maxBytesRatio)
  }
}

/// How a client should apply a changeset.
public enum ChangesetMode: String, Sendable, CaseIterable {
  /// Content changed; clients' prepared views stay valid.
  case reconfigure
  /// Elements were inserted, deleted, moved or reloaded.
  case diff
  /// The whole feed, regardless of the replica's state.
  case reload
  /// The feed was deleted.
  case delete
}

/// Why a feed is published as a whole: the reasons of the protocol, section 4.4.
public enum ReloadReason: String, Sendable, CaseIterable {
  /// The epoch was not published before.
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
  /// The state is written again, so that the compacted topic stays small.
  case keyframe

  /// Whether a reload for this reason has a plan with the compared figures; nil if it may have one.
  package var needsPlan: Bool? {
    switch self {
    case .changes, .fraction, .kinds, .keyframe: true
    // A reload may also replace a difference whose number is too large for a key; then nothing was weighed.
    case .bytes: nil
    case .initial, .requested, .disjoint: false
    }
  }
}

/// The figures by which the planner chose between a difference and a reload.
public struct WeighedDifference: Sendable, Equatable {
  /// Entries of sections and items, other than `reconfigure`.
  public var weight = 0
  /// Items before the changeset, and after it.
  public var itemsBefore = 0
  public var itemsAfter = 0
  /// Items that are in both states and changed their kind.
  public var changedKinds = 0
  /// Bytes of the difference as one value.
  public var differenceBytes = 0
  /// Bytes of the reload as one value, with the reason `bytes`.
  public var reloadBytes = 0
  /// The thresholds that the figures were compared with.
  public var thresholds = PlannerThresholds()

  /// The items that fractions refer to: those before or after, whichever are more.
  public var items: Int { max(itemsBefore, itemsAfter) }

  public init() {}

  /// The figure that exceeded a threshold for a reason, and the threshold, in words.
  ///
  /// - Parameter count: formats a number.
  /// - Returns: nil for reasons that are not weighed; `figures` is nil for the weight.
  package func words(
    for reason: ReloadReason,
    count: (Int) -> String
  ) -> (figures: String?, threshold: String)? {
    switch reason {
    case .changes: (nil, "\(count(thresholds.maxChanges)) changes")
    case .fraction: (nil, ChangesetPlan.text(thresholds.maxChangedFraction))
    case .kinds:
      (
        "\(count(changedKinds)) of \(count(itemsAfter)) \(itemsAfter == 1 ? "item" : "items") changed their kind",
        ChangesetPlan.text(thresholds.maxKindFraction)
      )
    case .bytes: (nil, "\(ChangesetPlan.text(thresholds.maxBytesRatio)) times its bytes")
    case .initial, .requested, .disjoint, .keyframe: nil
    }
  }
}

/// The figures that made a keyframe due.
public struct DueKeyframe: Sendable, Equatable {
  /// The number of delta records since the previous reload, and the bytes of their values.
  public var deltas = 0
  public var deltaBytes = 0
  /// The bytes of the previous reload's values.
  public var lastReloadBytes = 0
  /// Bytes of the keyframe as one value.
  public var keyframeBytes = 0
  /// The settings that the figures were compared with.
  public var policy = KeyframePolicy()

  public init() {}
}
