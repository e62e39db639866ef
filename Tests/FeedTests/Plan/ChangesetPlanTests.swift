import Testing

@testable import Feed

/// The header `feedstore.plan`: written plans are read back, and other texts are ignored.
struct ChangesetPlanTests {
  private let indexer = JSONIndexer()

  private func read(_ text: String) -> ChangesetPlan? {
    Array(text.utf8).withUnsafeBytes { ChangesetPlan(ByteSpan($0), indexer: indexer) }
  }

  private static func weighed(_ figure: Int, _ threshold: Double) -> ChangesetPlan {
    var weighed = WeighedDifference()
    weighed.forEachFigure {
      $1 = figure
    } ratio: {
      $1 = threshold
    }
    return .weighed(weighed)
  }

  private static let keyframe: ChangesetPlan = {
    var due = DueKeyframe()
    (due.deltas, due.deltaBytes, due.lastReloadBytes, due.keyframeBytes) = (3, 40, 50, 60)
    (due.policy.maxDeltas, due.policy.maxBytesRatio) = (3, 0.25)
    return .keyframe(due)
  }()

  static let plans: [ChangesetPlan] = [
    weighed(0, 0), weighed(12, 0.5), weighed(1, 3), weighed(.max, .greatestFiniteMagnitude),
    weighed(9_007_199_254_740_991, 0.1234567890123456), weighed(7, .leastNonzeroMagnitude), keyframe,
  ]

  @Test(arguments: plans) func `what is written is read back, within its bound`(plan: ChangesetPlan) {
    #expect(read(plan.text) == plan)
    #expect(plan.text.utf8.count <= ChangesetPlan.greatestByteCount)
  }

  @Test func `thresholds have the fewest digits`() {
    #expect(ChangesetPlan.text(3) == "3")
    #expect(ChangesetPlan.text(0.5) == "0.5")
    #expect(ChangesetPlan.text(1.5) == "1.5")
    #expect(Self.keyframe.text.hasSuffix(#""maxDeltas":3,"maxBytesRatio":0.25}"#))
  }

  @Test func `members that are not known are passed over`() {
    let text = Self.keyframe.text
    #expect(read("{\"more\":[1]," + text.dropFirst()) == Self.keyframe)
  }

  @Test func `what is no plan is none`() {
    let text = Self.keyframe.text
    for wrong in [
      "", "{}", "[]", "1", "null", String(text.dropLast()), text.replacing("3", with: "\"3\""),
      text.replacing(":3", with: ":-3"), text.replacing(":40", with: ":4.5"),
      text.replacing("0.25", with: "-1"),
      text.replacing("0.25", with: "1e999"), text.replacing("deltaBytes", with: "delta"),
      text.replacing("{", with: "{" + String(repeating: " ", count: 500)),
    ] {
      #expect(read(wrong) == nil, "\(wrong)")
    }
  }
}
