extension ChangesetPlan {
  /// Reads the header's value. Unknown members are ignored.
  ///
  /// Nil if the value is not a plan: not JSON, too long, or without one of the figures. A plan only explains a
  /// changeset, so followers ignore such a header.
  public init?(_ value: ByteSpan, indexer: JSONIndexer) {
    guard value.count <= ChangesetPlan.greatestByteCount, let text = try? indexer.validated(value),
      text.character(0) == UInt8(ascii: "{")
    else { return nil }
    var figures = Figures()
    let arena = ScratchArena()
    text.forEachMember(of: 0, arena: arena) { name, value in
      figures.numbers[name.text] = text.span(from: value.first, to: value.end).text
    }
    guard let plan = figures.weighed ?? figures.keyframe else { return nil }
    self = plan
  }

  /// The members of the object, as they are spelled.
  private struct Figures {
    var numbers: [String: String] = [:]

    func integer(_ name: String) -> Int? {
      numbers[name].flatMap { Int($0) }.flatMap { $0 < 0 ? nil : $0 }
    }

    func threshold(_ name: String) -> Double? {
      numbers[name].flatMap { Double($0) }.flatMap { $0 >= 0 && $0.isFinite ? $0 : nil }
    }

    var weighed: ChangesetPlan? {
      var thresholds = PlannerThresholds()
      guard let weight = integer("weight"), let itemsBefore = integer("itemsBefore"),
        let itemsAfter = integer("itemsAfter"), let changedKinds = integer("changedKinds"),
        let differenceBytes = integer("differenceBytes"), let reloadBytes = integer("reloadBytes"),
        let maxChanges = integer("maxChanges"), let minimumItems = integer("minimumItems"),
        let maxChangedFraction = threshold("maxChangedFraction"),
        let maxKindFraction = threshold("maxKindFraction"),
        let maxReloadRatio = threshold("maxReloadRatio"), let maxBytesRatio = threshold("maxBytesRatio")
      else { return nil }
      thresholds.maxChanges = maxChanges
      thresholds.maxChangedFraction = maxChangedFraction
      thresholds.minimumItems = minimumItems
      thresholds.maxKindFraction = maxKindFraction
      thresholds.maxReloadRatio = maxReloadRatio
      thresholds.maxBytesRatio = maxBytesRatio
      return .weighed(
        WeighedDifference(
          weight: weight,
          itemsBefore: itemsBefore,
          itemsAfter: itemsAfter,
          changedKinds: changedKinds,
          differenceBytes: differenceBytes,
          reloadBytes: reloadBytes,
          thresholds: thresholds
        )
      )
    }

    var keyframe: ChangesetPlan? {
      var policy = KeyframePolicy()
      guard let deltas = integer("deltas"), let deltaBytes = integer("deltaBytes"),
        let lastReloadBytes = integer("lastReloadBytes"), let keyframeBytes = integer("keyframeBytes"),
        let maxDeltas = integer("maxDeltas"), let maxBytesRatio = threshold("maxBytesRatio")
      else { return nil }
      policy.maxDeltas = maxDeltas
      policy.maxBytesRatio = maxBytesRatio
      return .keyframe(
        DueKeyframe(
          deltas: deltas,
          deltaBytes: deltaBytes,
          lastReloadBytes: lastReloadBytes,
          keyframeBytes: keyframeBytes,
          policy: policy
        )
      )
    }
  }
}
