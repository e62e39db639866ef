import Feed
import Service

/// Describes why the planner published a changeset as it did.
enum PlanText {
  /// - Parameter reason: the reload's reason; nil for a difference.
  static func sentence(_ plan: ChangesetPlan, _ reason: ReloadReason?) -> String {
    switch plan {
    case .weighed(let weighed): sentence(weighed, reason)
    case .keyframe(let due): sentence(due)
    }
  }

  private static func sentence(_ weighed: WeighedDifference, _ reason: ReloadReason?) -> String {
    let sizes = Quantity.bytes(weighed.differenceBytes) + " against " + Quantity.bytes(weighed.reloadBytes)
    let thresholds = weighed.thresholds
    switch reason {
    case .kinds:
      return "\(Quantity.count(weighed.changedKinds)) of \(items(weighed.itemsAfter)) changed their kind; "
        + "reload above \(ChangesetPlan.text(thresholds.maxKindFraction)); \(sizes)"
    case .bytes:
      return
        "\(changes(weighed)); reload above \(ChangesetPlan.text(thresholds.maxBytesRatio)) times its bytes; \(sizes)"
    default: return "\(changes(weighed)); \(threshold(weighed, reason)); \(sizes)"
    }
  }

  /// `12 changes of 105 items weigh 0.11`
  private static func changes(_ weighed: WeighedDifference) -> String {
    let text =
      "\(Quantity.count(weighed.weight)) \(weighed.weight == 1 ? "change" : "changes") of \(items(weighed.items))"
    guard weighed.items > 0 else { return text }
    let share = Quantity.fixed(Double(weighed.weight) / Double(weighed.items), digits: 2)
    return "\(text) \(weighed.weight == 1 ? "weighs" : "weigh") \(share)"
  }

  private static func threshold(_ weighed: WeighedDifference, _ reason: ReloadReason?) -> String {
    let thresholds = weighed.thresholds
    let fraction = ChangesetPlan.text(thresholds.maxChangedFraction)
    let isFractionUsed = weighed.items >= thresholds.minimumItems
    let greatestWeight = thresholds.maxChangedFraction * Double(weighed.items)
    // The threshold that a growing weight reaches first, or has exceeded.
    let isCounted =
      reason == .changes || !isFractionUsed || Double(thresholds.maxChanges) < greatestWeight
    let isPassed =
      weighed.weight > thresholds.maxChanges || (isFractionUsed && Double(weighed.weight) > greatestWeight)
    let bound = isCounted ? "\(Quantity.count(thresholds.maxChanges)) changes" : fraction
    guard reason == nil, isPassed else { return "reload above \(bound)" }
    return
      "above \(bound), but a reload takes more than \(ChangesetPlan.text(thresholds.maxReloadRatio)) times the bytes"
  }

  private static func sentence(_ due: DueKeyframe) -> String {
    let deltas =
      "\(Quantity.count(due.deltas)) delta \(due.deltas == 1 ? "record" : "records") of "
      + "\(Quantity.bytes(due.deltaBytes)) since a reload of \(Quantity.bytes(due.lastReloadBytes))"
    let ratio = ChangesetPlan.text(due.policy.maxBytesRatio)
    let isLong = Double(due.deltaBytes) > due.policy.maxBytesRatio * Double(due.lastReloadBytes)
    return isLong
      ? "\(deltas); keyframe above \(ratio) times its bytes"
      : "\(deltas); keyframe from \(Quantity.count(due.policy.maxDeltas)) records on"
  }

  private static func items(_ count: Int) -> String {
    "\(Quantity.count(count)) \(count == 1 ? "item" : "items")"
  }
}
