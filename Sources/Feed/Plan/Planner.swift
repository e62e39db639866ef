/// Chooses between a difference and a full reload by cost, as the protocol's "Modes" says: the first reason that
/// holds.
package struct Planner {
  let thresholds: PlannerThresholds

  package init(thresholds: PlannerThresholds) { self.thresholds = thresholds }

  /// What is known of a changeset before its difference is computed.
  struct Situation {
    var isInitial: Bool
    var isReloadRequested: Bool
    var publishedItemCount: Int
    var itemCount: Int
    var tally: DifferenceTally
  }

  /// The reason for a reload whatever its cost is; with nil the difference must be weighed.
  func certainReason(_ situation: Situation) -> ReloadReason? {
    if situation.isInitial { return .initial }
    if situation.isReloadRequested { return .requested }
    let isDisjoint =
      situation.publishedItemCount > 0 && situation.itemCount > 0 && situation.tally.commonItemCount == 0
    return isDisjoint ? .disjoint : nil
  }

  /// The reason for a reload in place of a difference that is more than `reconfigure` entries.
  package func reason(_ weighed: WeighedDifference) -> ReloadReason? {
    // A large change is no reason to send what is much larger still.
    let isWorthwhile =
      Double(weighed.reloadBytes) <= thresholds.maxReloadRatio * Double(weighed.differenceBytes)
    if isWorthwhile {
      if weighed.weight > thresholds.maxChanges { return .changes }
      if isFraction(weighed.weight, of: weighed.items) { return .fraction }
    }
    if isKindFraction(weighed) { return .kinds }
    return Double(weighed.differenceBytes) > thresholds.maxBytesRatio * Double(weighed.reloadBytes)
      ? .bytes : nil
  }

  /// Of no items any weight is more than every fraction: the quotient is infinite.
  private func isFraction(_ weight: Int, of items: Int) -> Bool {
    items >= thresholds.minimumItems && Double(weight) / Double(items) > thresholds.maxChangedFraction
  }

  /// Where no item results, none changed its kind.
  private func isKindFraction(_ weighed: WeighedDifference) -> Bool {
    weighed.items >= thresholds.minimumItems && weighed.itemsAfter > 0
      && Double(weighed.changedKinds) / Double(weighed.itemsAfter) > thresholds.maxKindFraction
  }
}
