import Testing

@testable import Feed

/// The table of reload reasons in the protocol, one row after the other, at its bounds.
struct PlannerTests {
  private func thresholds(_ change: (inout PlannerThresholds) -> Void = { _ in }) -> PlannerThresholds {
    var thresholds = PlannerThresholds()
    thresholds.maxChanges = 10
    thresholds.maxChangedFraction = 0.5
    thresholds.minimumItems = 8
    thresholds.maxKindFraction = 0.25
    thresholds.maxReloadRatio = 3
    thresholds.maxBytesRatio = 1.5
    change(&thresholds)
    return thresholds
  }

  /// A feed with numbers of items before and after, all of them in common by default.
  private func situation(
    before: Int = 16,
    after: Int = 16,
    common: Int? = nil,
    isInitial: Bool = false,
    isReloadRequested: Bool = false
  ) -> PlannedChange {
    var tally = DifferenceTally()
    tally.commonItemCount = common ?? min(before, after)
    return PlannedChange(
      isInitial: isInitial,
      isReloadRequested: isReloadRequested,
      publishedItemCount: before,
      itemCount: after,
      tally: tally
    )
  }

  /// A difference of a feed with numbers of items before and after, as large as the reload by default.
  private func weighed(
    _ weight: Int,
    before: Int = 16,
    after: Int = 16,
    kinds: Int = 0,
    difference: Int = 100,
    reload: Int = 100,
    by thresholds: PlannerThresholds? = nil
  ) -> WeighedDifference {
    var weighed = WeighedDifference()
    (weighed.weight, weighed.itemsBefore, weighed.itemsAfter) = (weight, before, after)
    weighed.changedKinds = kinds
    (weighed.differenceBytes, weighed.reloadBytes) = (difference, reload)
    weighed.thresholds = thresholds ?? self.thresholds()
    return weighed
  }

  @Test func `the first changeset of a feed is a reload, also when a reload was requested`() {
    #expect(situation(isInitial: true).certainReason == .initial)
    #expect(situation(isInitial: true, isReloadRequested: true).certainReason == .initial)
  }

  @Test func `a requested reload is one even when nothing changed or nothing stayed`() {
    #expect(situation(isReloadRequested: true).certainReason == .requested)
    #expect(situation(common: 0, isReloadRequested: true).certainReason == .requested)
  }

  @Test func `items before and after with none in common are disjoint`() {
    #expect(situation(before: 1, after: 1, common: 0).certainReason == .disjoint)
    #expect(situation(before: 1, after: 1, common: 1).certainReason == nil)
    #expect(situation(before: 0, after: 1, common: 0).certainReason == nil)
    #expect(situation(before: 1, after: 0, common: 0).certainReason == nil)
  }

  @Test func `a weight above the greatest is a reload, and the greatest is none`() {
    #expect(weighed(10, before: 1_000, after: 1_000).reason == nil)
    #expect(weighed(11, before: 1_000, after: 1_000).reason == .changes)
  }

  @Test func `the fraction counts against the greater number of items`() {
    #expect(weighed(8).reason == nil)
    #expect(weighed(9).reason == .fraction)
    #expect(weighed(8, before: 16, after: 8).reason == nil)
    #expect(weighed(8, before: 8, after: 16).reason == nil)
    #expect(weighed(9, before: 8, after: 16).reason == .fraction)
    #expect(weighed(8, before: 15, after: 15).reason == .fraction)
  }

  @Test func `a large weight is no reason for a reload that is too large beside the difference`() {
    for reload in [299, 300] {
      #expect(weighed(11, before: 1_000, after: 1_000, reload: reload).reason == .changes)
      #expect(weighed(9, reload: reload).reason == .fraction)
    }
    #expect(weighed(11, before: 1_000, after: 1_000, reload: 301).reason == nil)
    #expect(weighed(9, reload: 301).reason == nil)
    #expect(weighed(9, reload: 301, by: thresholds { $0.maxReloadRatio = 3.01 }).reason == .fraction)
    #expect(weighed(9, difference: 1, reload: 1, by: thresholds { $0.maxReloadRatio = 0 }).reason == nil)
  }

  @Test func `the other reasons hold however large the reload is`() {
    #expect(weighed(11, kinds: 5, reload: 301).reason == .kinds)
  }

  @Test func `fractions do not apply to feeds of few items`() {
    #expect(weighed(7, before: 7, after: 7, kinds: 7).reason == nil)
    #expect(weighed(7, before: 8, after: 1, kinds: 1).reason == .fraction)
    #expect(weighed(4, before: 8, after: 1, kinds: 1).reason == .kinds)
  }

  @Test func `any weight is more than a fraction of no items`() {
    let thresholds = thresholds { $0.minimumItems = 0 }
    #expect(weighed(1, before: 0, after: 0, by: thresholds).reason == .fraction)
    #expect(weighed(1, before: 0, after: 0, reload: 301, by: thresholds).reason == nil)
  }

  @Test func `the fraction of changed kinds counts against the resulting items`() {
    #expect(weighed(4, kinds: 4).reason == nil)
    #expect(weighed(5, kinds: 5).reason == .kinds)
    #expect(weighed(5, before: 16, after: 10, kinds: 3).reason == .kinds)
    #expect(weighed(5, before: 16, after: 12, kinds: 3).reason == nil)
  }

  @Test func `the first reason that holds is the one that is named`() {
    #expect(weighed(16, kinds: 16, difference: 200).reason == .changes)
    #expect(weighed(10, kinds: 10, difference: 200).reason == .fraction)
    #expect(weighed(5, kinds: 5, difference: 200).reason == .kinds)
    #expect(weighed(1, difference: 200).reason == .bytes)
  }

  @Test func `a difference gives way to a reload only above the ratio`() {
    #expect(weighed(1, difference: 150).reason == nil)
    #expect(weighed(1, difference: 151).reason == .bytes)
  }
}
