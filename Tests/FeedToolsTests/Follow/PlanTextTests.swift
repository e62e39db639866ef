import Feed
import Testing

@testable import FeedTools

/// The description of why a changeset was published as it was.
struct PlanTextTests {
  private func sentence(
    _ weight: Int,
    of items: Int,
    kinds: Int = 0,
    difference: Int = 1_900,
    reload: Int = 24_600,
    reason: ReloadReason? = nil
  ) -> String {
    var weighed = WeighedDifference()
    (weighed.weight, weighed.itemsBefore, weighed.itemsAfter) = (weight, items, items)
    weighed.changedKinds = kinds
    (weighed.differenceBytes, weighed.reloadBytes) = (difference, reload)
    return PlanText.sentence(.weighed(weighed), reason)
  }

  @Test func `a difference is described by the threshold that it is closest to`() {
    #expect(
      sentence(12, of: 105) == "12 changes of 105 items weigh 0.11; reload above 0.5; 1.9 kB against 24.6 kB"
    )
    #expect(
      sentence(1, of: 1)
        == "1 change of 1 item weighs 1.00; reload above 5,000 changes; 1.9 kB against 24.6 kB"
    )
    #expect(
      sentence(12, of: 20_000).contains("12 changes of 20,000 items weigh 0.00; reload above 5,000 changes;")
    )
    #expect(sentence(2, of: 0).contains("2 changes of 0 items; reload above"))
  }

  @Test func `a difference above a threshold is described by the reload's cost`() {
    #expect(
      sentence(60, of: 100)
        == "60 changes of 100 items weigh 0.60; above 0.5, but a reload takes more than 3 times the bytes; "
        + "1.9 kB against 24.6 kB"
    )
    #expect(
      sentence(6_000, of: 100_000).contains("; above 5,000 changes, but a reload takes more than 3 times")
    )
  }

  @Test func `a reload is described by its reason`() {
    #expect(sentence(60, of: 100, reason: .fraction).contains("weigh 0.60; reload above 0.5; "))
    #expect(sentence(6_000, of: 7_000, reason: .changes).contains("; reload above 5,000 changes; "))
    #expect(
      sentence(60, of: 100, kinds: 51, reason: .kinds)
        == "51 of 100 items changed their kind; reload above 0.5; 1.9 kB against 24.6 kB"
    )
    #expect(
      sentence(9, of: 100, difference: 2_000, reload: 1_000, reason: .bytes)
        == "9 changes of 100 items weigh 0.09; reload above 1.5 times its bytes; 2.0 kB against 1.0 kB"
    )
  }

  @Test func `a keyframe is described by the limit that was reached`() {
    var due = DueKeyframe()
    (due.deltas, due.deltaBytes) = (84, 49_600)
    (due.lastReloadBytes, due.keyframeBytes) = (24_600, 25_000)
    #expect(
      PlanText.sentence(.keyframe(due), .keyframe)
        == "84 delta records of 49.6 kB since a reload of 24.6 kB; keyframe above 2 times its bytes"
    )
    (due.deltas, due.deltaBytes) = (1_000, 20_000)
    #expect(
      PlanText.sentence(.keyframe(due), .keyframe)
        == "1,000 delta records of 20.0 kB since a reload of 24.6 kB; keyframe from 1,000 records on"
    )
  }
}
