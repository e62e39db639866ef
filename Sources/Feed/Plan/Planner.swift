/// Chooses between a difference and a full reload by cost, as the protocol, section 4, says: the
/// first reason that holds.
struct Planner {
  let thresholds: PlannerThresholds

  /// What is known of a changeset before its difference is computed.
  struct Situation {
    var isInitial: Bool
    var isReloadRequested: Bool
    var publishedItemCount: Int
    var itemCount: Int
    var tally: DifferenceTally
  }

  /// The reason for a reload if one is certain already; with nil the difference must be computed.
  func certainReason(_ situation: Situation) -> ReloadReason? {
    let atLeast = situation.tally.certainWeight
    return reason(weight: atLeast...atLeast + situation.tally.possibleMoves, situation)
  }

  /// The reason for a reload once the weight is known, `bytes` excepted.
  func reason(weight: Int, _ situation: Situation) -> ReloadReason? {
    reason(weight: weight...weight, situation)
  }

  /// The first reason that holds whatever the weight is within its bounds; nil where there is none, or
  /// where it depends on the weight.
  private func reason(weight: ClosedRange<Int>, _ situation: Situation) -> ReloadReason? {
    if situation.isInitial { return .initial }
    if situation.isReloadRequested { return .requested }
    // A changeset of reconfigure entries alone becomes a reload only when requested.
    guard weight.lowerBound > 0 else { return nil }
    if situation.publishedItemCount > 0, situation.itemCount > 0, situation.tally.commonItemCount == 0 {
      return .disjoint
    }
    if weight.lowerBound > thresholds.maxChanges { return .changes }
    guard weight.upperBound <= thresholds.maxChanges else { return nil }
    let larger = max(situation.publishedItemCount, situation.itemCount)
    if isFraction(weight.lowerBound, of: larger) { return .fraction }
    guard !isFraction(weight.upperBound, of: larger) else { return nil }
    return isKindFraction(situation) ? .kinds : nil
  }

  /// Whether a difference of that size gives way to a reload of that size.
  func isTooLarge(difference: Int, reload: Int) -> Bool {
    Double(difference) > thresholds.maxBytesRatio * Double(reload)
  }

  /// Of no items any weight is more than every fraction: the quotient is infinite.
  private func isFraction(_ weight: Int, of larger: Int) -> Bool {
    larger >= thresholds.minimumItems && weight > 0
      && Double(weight) / Double(larger) > thresholds.maxChangedFraction
  }

  /// Where no item results, none changed its kind.
  private func isKindFraction(_ situation: Situation) -> Bool {
    let larger = max(situation.publishedItemCount, situation.itemCount)
    return larger >= thresholds.minimumItems && situation.itemCount > 0
      && Double(situation.tally.changedKindCount) / Double(situation.itemCount) > thresholds.maxKindFraction
  }
}
