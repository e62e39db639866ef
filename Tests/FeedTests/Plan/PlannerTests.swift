import Testing

@testable import Feed

/// The table of reload reasons in the protocol, one row after the other, at its bounds.
struct PlannerTests {
  private func planner(_ change: (inout PlannerThresholds) -> Void = { _ in }) -> Planner {
    var thresholds = PlannerThresholds()
    thresholds.maxChanges = 10
    thresholds.maxChangedFraction = 0.5
    thresholds.minimumItems = 8
    thresholds.maxKindFraction = 0.25
    thresholds.maxReloadRatio = 3
    thresholds.maxBytesRatio = 1.5
    change(&thresholds)
    return Planner(thresholds: thresholds)
  }

  /// A feed of so many items before and after, all of them in common unless said otherwise.
  private func situation(
    before: Int = 16,
    after: Int = 16,
    common: Int? = nil,
    isInitial: Bool = false,
    isReloadRequested: Bool = false
  ) -> Planner.Situation {
    var tally = DifferenceTally()
    tally.commonItemCount = common ?? min(before, after)
    return Planner.Situation(
      isInitial: isInitial,
      isReloadRequested: isReloadRequested,
      publishedItemCount: before,
      itemCount: after,
      tally: tally
    )
  }

  /// A difference of a feed of so many items before and after, as large as the reload unless said otherwise.
  private func weighed(
    _ weight: Int,
    before: Int = 16,
    after: Int = 16,
    kinds: Int = 0,
    difference: Int = 100,
    reload: Int = 100
  ) -> WeighedDifference {
    var weighed = WeighedDifference()
    (weighed.weight, weighed.itemsBefore, weighed.itemsAfter) = (weight, before, after)
    weighed.changedKinds = kinds
    (weighed.differenceBytes, weighed.reloadBytes) = (difference, reload)
    weighed.thresholds = planner().thresholds
    return weighed
  }

  @Test func `the first changeset of a feed is a reload, also when a reload was requested`() {
    #expect(planner().certainReason(situation(isInitial: true)) == .initial)
    #expect(planner().certainReason(situation(isInitial: true, isReloadRequested: true)) == .initial)
  }

  @Test func `a requested reload is one even when nothing changed or nothing stayed`() {
    #expect(planner().certainReason(situation(isReloadRequested: true)) == .requested)
    #expect(planner().certainReason(situation(common: 0, isReloadRequested: true)) == .requested)
  }

  @Test func `items before and after with none in common are disjoint`() {
    #expect(planner().certainReason(situation(before: 1, after: 1, common: 0)) == .disjoint)
    #expect(planner().certainReason(situation(before: 1, after: 1, common: 1)) == nil)
    #expect(planner().certainReason(situation(before: 0, after: 1, common: 0)) == nil)
    #expect(planner().certainReason(situation(before: 1, after: 0, common: 0)) == nil)
  }

  @Test func `a weight above the greatest is a reload, and the greatest is none`() {
    #expect(planner().reason(weighed(10, before: 1_000, after: 1_000)) == nil)
    #expect(planner().reason(weighed(11, before: 1_000, after: 1_000)) == .changes)
  }

  @Test func `the fraction counts against the greater number of items`() {
    let planner = planner()
    #expect(planner.reason(weighed(8)) == nil)
    #expect(planner.reason(weighed(9)) == .fraction)
    #expect(planner.reason(weighed(8, before: 16, after: 8)) == nil)
    #expect(planner.reason(weighed(8, before: 8, after: 16)) == nil)
    #expect(planner.reason(weighed(9, before: 8, after: 16)) == .fraction)
    #expect(planner.reason(weighed(8, before: 15, after: 15)) == .fraction)
  }

  @Test func `a large weight is no reason for a reload that is too large beside the difference`() {
    for reload in [299, 300] {
      #expect(planner().reason(weighed(11, before: 1_000, after: 1_000, reload: reload)) == .changes)
      #expect(planner().reason(weighed(9, reload: reload)) == .fraction)
    }
    #expect(planner().reason(weighed(11, before: 1_000, after: 1_000, reload: 301)) == nil)
    #expect(planner().reason(weighed(9, reload: 301)) == nil)
    #expect(planner { $0.maxReloadRatio = 3.01 }.reason(weighed(9, reload: 301)) == .fraction)
    #expect(planner { $0.maxReloadRatio = 0 }.reason(weighed(9, difference: 1, reload: 1)) == nil)
  }

  @Test func `the other reasons hold however large the reload is`() {
    #expect(planner().reason(weighed(11, kinds: 5, reload: 301)) == .kinds)
  }

  @Test func `fractions do not apply to feeds of few items`() {
    #expect(planner().reason(weighed(7, before: 7, after: 7, kinds: 7)) == nil)
    #expect(planner().reason(weighed(7, before: 8, after: 1, kinds: 1)) == .fraction)
    #expect(planner().reason(weighed(4, before: 8, after: 1, kinds: 1)) == .kinds)
  }

  @Test func `any weight is more than a fraction of no items`() {
    let planner = planner { $0.minimumItems = 0 }
    #expect(planner.reason(weighed(1, before: 0, after: 0)) == .fraction)
    #expect(planner.reason(weighed(1, before: 0, after: 0, reload: 301)) == nil)
  }

  @Test func `the fraction of changed kinds counts against the resulting items`() {
    #expect(planner().reason(weighed(4, kinds: 4)) == nil)
    #expect(planner().reason(weighed(5, kinds: 5)) == .kinds)
    #expect(planner().reason(weighed(5, before: 16, after: 10, kinds: 3)) == .kinds)
    #expect(planner().reason(weighed(5, before: 16, after: 12, kinds: 3)) == nil)
  }

  @Test func `the first reason that holds is the one that is named`() {
    #expect(planner().reason(weighed(16, kinds: 16, difference: 200)) == .changes)
    #expect(planner().reason(weighed(10, kinds: 10, difference: 200)) == .fraction)
    #expect(planner().reason(weighed(5, kinds: 5, difference: 200)) == .kinds)
    #expect(planner().reason(weighed(1, difference: 200)) == .bytes)
  }

  @Test func `a difference gives way to a reload only above the ratio`() {
    #expect(planner().reason(weighed(1, difference: 150)) == nil)
    #expect(planner().reason(weighed(1, difference: 151)) == .bytes)
  }
}
