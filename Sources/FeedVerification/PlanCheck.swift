import Feed

/// Checks the header `feedstore.plan` against the changeset and the feed.
struct PlanCheck {
  let form: ChangesetForm
  /// The plan of the changeset's first part.
  let plan: ChangesetPlan?

  /// Whether a record must have the header; nil if it may have it.
  static func isNeeded(_ record: DecodedChangeset) -> Bool? {
    if record.part > 0 { return false }
    return record.mode == .diff ? true : record.mode == .reload ? record.reason?.needsPlan : false
  }

  /// Checks that the plan explains the changeset, independent of the feed.
  static func checkReason(_ plan: ChangesetPlan, _ form: ChangesetForm) throws(Violation) {
    switch plan {
    case .keyframe:
      try require(form.isKeyframe) { "\(form.name) has the plan of a keyframe" }
    case .weighed(let weighed):
      try require(!form.isKeyframe) { "\(form.name) has the plan of a difference" }
      let reason = weighed.reason
      guard reason != form.record.reason else { return }
      // A reload may also replace a difference because no key numbers are left for it.
      if reason == nil, form.record.reason == .bytes { return }
      throw Violation(
        "the plan of \(form.name) is that of \(words(reason)), but it is \(words(form.record.reason))"
      )
    }
  }

  private static func words(_ reason: ReloadReason?) -> String {
    reason.map { "a reload with reason \"\($0.rawValue)\"" } ?? "a difference"
  }

  /// Checks an applied difference.
  ///
  /// - Parameters:
  ///   - differenceBytes: bytes of the changeset; nil if it has parts.
  ///   - state: the result.
  func check(
    _ entries: DecodedEntries,
    differenceBytes: Int?,
    itemsBefore: Int,
    after state: FeedState
  ) throws(Violation) {
    guard case .weighed(let weighed) = plan else { return }
    try expect("weight", weighed.weight, entries.weight)
    try expect("itemsBefore", weighed.itemsBefore, itemsBefore)
    if let differenceBytes { try expect("differenceBytes", weighed.differenceBytes, differenceBytes) }
    try require(weighed.changedKinds <= entries.itemReloadCount) {
      "the plan of \(form.name) has \(weighed.changedKinds) changed kinds, "
        + "but it reloads \(entries.itemReloadCount) items"
    }
    try checkResult(weighed, state)
  }

  /// Checks a reload that replaced a difference.
  ///
  /// - Parameter itemsBefore: nil if unknown.
  func check(itemsBefore: Int?, after state: FeedState) throws(Violation) {
    guard case .weighed(let weighed) = plan else { return }
    if let itemsBefore { try expect("itemsBefore", weighed.itemsBefore, itemsBefore) }
    try checkResult(weighed, state)
  }

  private func checkResult(_ weighed: WeighedDifference, _ state: FeedState) throws(Violation) {
    try expect("itemsAfter", weighed.itemsAfter, state.itemCount)
    let reloadBytes = state.reloadByteCount(headBytes: form.reloadHeadBytes(.bytes))
    try expect("reloadBytes", weighed.reloadBytes, reloadBytes)
  }

  /// Checks a keyframe of a known feed.
  func check(_ keys: KeyUse, _ policy: KeyframePolicy, _ state: FeedState) throws(Violation) {
    guard case .keyframe(let due) = plan else { return }
    try expect("deltas", due.deltas, keys.deltas)
    try expect("deltaBytes", due.deltaBytes, keys.deltaBytes)
    try expect("lastReloadBytes", due.lastReloadBytes, keys.reloadBytes)
    let keyframeBytes = state.reloadByteCount(headBytes: form.reloadHeadBytes(.keyframe))
    try expect("keyframeBytes", due.keyframeBytes, keyframeBytes)
    try expect("maxDeltas", due.policy.maxDeltas, policy.maxDeltas)
    try require(due.policy.maxBytesRatio == policy.maxBytesRatio) {
      "the plan of \(form.name) has maxBytesRatio \(ChangesetPlan.text(due.policy.maxBytesRatio)), "
        + "keyframe.maxBytesRatio is \(ChangesetPlan.text(policy.maxBytesRatio))"
    }
  }

  private func expect(_ name: String, _ found: Int, _ expected: Int) throws(Violation) {
    guard found != expected else { return }
    throw Violation("the plan of \(form.name) has \(name) \(found), expected \(expected)")
  }
}
