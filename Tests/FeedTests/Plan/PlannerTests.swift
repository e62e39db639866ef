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
    thresholds.maxBytesRatio = 1.5
    change(&thresholds)
    return Planner(thresholds: thresholds)
  }

  /// A feed of so many items before and after, all of them in common unless said otherwise.
  private func situation(
    before: Int = 16,
    after: Int = 16,
    common: Int? = nil,
    kinds: Int = 0,
    isInitial: Bool = false,
    isReloadRequested: Bool = false
  ) -> Planner.Situation {
    var tally = DifferenceTally()
    tally.commonItemCount = common ?? min(before, after)
    tally.changedKindCount = kinds
    return Planner.Situation(
      isInitial: isInitial,
      isReloadRequested: isReloadRequested,
      publishedItemCount: before,
      itemCount: after,
      tally: tally
    )
  }

  @Test func `the first changeset of a feed is a reload, also when a reload was requested`() {
    #expect(planner().reason(weight: 1, situation(isInitial: true)) == .initial)
    #expect(planner().reason(weight: 0, situation(isInitial: true, isReloadRequested: true)) == .initial)
  }

  @Test func `a requested reload is one even when nothing changed`() {
    #expect(planner().reason(weight: 0, situation(isReloadRequested: true)) == .requested)
    #expect(planner().reason(weight: 99, situation(isReloadRequested: true)) == .requested)
  }

  @Test func `reconfigure entries alone are never a reload`() {
    #expect(planner().reason(weight: 0, situation(common: 0, kinds: 16)) == nil)
    #expect(planner { $0.maxChanges = 0 }.reason(weight: 0, situation()) == nil)
  }

  @Test func `items before and after with none in common are disjoint`() {
    #expect(planner().reason(weight: 2, situation(before: 1, after: 1, common: 0)) == .disjoint)
    #expect(planner().reason(weight: 2, situation(before: 1, after: 1, common: 1)) == nil)
    #expect(planner().reason(weight: 1, situation(before: 0, after: 1, common: 0)) == nil)
    #expect(planner().reason(weight: 1, situation(before: 1, after: 0, common: 0)) == nil)
  }

  @Test func `a weight above the greatest is a reload, and the greatest is none`() {
    let situation = situation(before: 1_000, after: 1_000)
    #expect(planner().reason(weight: 10, situation) == nil)
    #expect(planner().reason(weight: 11, situation) == .changes)
  }

  @Test func `the fraction counts against the greater number of items`() {
    let planner = planner()
    #expect(planner.reason(weight: 8, situation()) == nil)
    #expect(planner.reason(weight: 9, situation()) == .fraction)
    #expect(planner.reason(weight: 8, situation(before: 16, after: 8)) == nil)
    #expect(planner.reason(weight: 8, situation(before: 8, after: 16)) == nil)
    #expect(planner.reason(weight: 9, situation(before: 8, after: 16)) == .fraction)
    #expect(planner.reason(weight: 8, situation(before: 15, after: 15)) == .fraction)
  }

  @Test func `fractions do not apply to feeds of few items`() {
    #expect(planner().reason(weight: 7, situation(before: 7, after: 7, kinds: 7)) == nil)
    #expect(planner().reason(weight: 7, situation(before: 8, after: 1, kinds: 1)) == .fraction)
    #expect(planner().reason(weight: 4, situation(before: 8, after: 1, kinds: 1)) == .kinds)
  }

  @Test func `the fraction of changed kinds counts against the resulting items`() {
    #expect(planner().reason(weight: 4, situation(kinds: 4)) == nil)
    #expect(planner().reason(weight: 5, situation(kinds: 5)) == .kinds)
    #expect(planner().reason(weight: 5, situation(before: 16, after: 10, kinds: 3)) == .kinds)
    #expect(planner().reason(weight: 5, situation(before: 16, after: 12, kinds: 3)) == nil)
  }

  @Test func `the first reason that holds is the one that is named`() {
    #expect(planner().reason(weight: 32, situation(common: 0, kinds: 0)) == .disjoint)
    #expect(planner().reason(weight: 16, situation(kinds: 16)) == .changes)
    #expect(planner().reason(weight: 10, situation(kinds: 10)) == .fraction)
  }

  @Test func `a difference gives way to a reload only above the ratio`() {
    #expect(!planner().isTooLarge(difference: 150, reload: 100))
    #expect(planner().isTooLarge(difference: 151, reload: 100))
  }

  @Test func `a reason is certain only where it holds for every weight that is possible`() {
    for minimum in [0, 8, 17] {
      let planner = planner { $0.minimumItems = minimum }
      for certain in 0...12 {
        for possible in 0...12 {
          for kinds in [0, 4, 5] {
            for common in [0, 16] {
              var situation = situation(common: common, kinds: kinds)
              situation.tally.certainWeight = certain
              situation.tally.possibleMoves = possible
              let reasons = Set((certain...certain + possible).map { planner.reason(weight: $0, situation) })
              let answer = planner.certainReason(situation)
              // It may leave the answer open, but is never wrong.
              if let answer {
                #expect(reasons == [answer], "weights \(certain)...\(certain + possible), \(kinds) kinds")
              }
              if possible == 0 { #expect(answer == reasons.first) }
              if certain > 10 { #expect(answer != nil) }
            }
          }
        }
      }
    }
  }
}
