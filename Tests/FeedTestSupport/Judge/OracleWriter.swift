import Feed

/// Writes changes as records, once it is told how to publish them.
struct OracleWriter {
  private let planner: PlannerThresholds
  private let keyframes: KeyframePolicy
  private let output: OutputOptions
  private var logs: [OracleFeedKey: OracleTopicLog] = [:]

  init(planner: PlannerThresholds, keyframes: KeyframePolicy, output: OutputOptions) {
    self.planner = planner
    self.keyframes = keyframes
    self.output = output
  }

  // MARK: - Documents

  private func document(_ change: OracleChange, _ mode: String) -> OracleDocument {
    OracleDocument(
      feed: change.key.id,
      epoch: change.epoch,
      revision: change.revision,
      base: change.base,
      mode: mode,
      time: change.time,
      through: change.through,
      checksum: change.after.map(OracleChecksum.of) ?? 0
    )
  }

  func reload(_ change: OracleChange, reason: String) -> OracleDocument {
    var document = document(change, "reload")
    document.reason = reason
    document.units = OracleDifference.reloadUnits(change.after ?? OracleFeed())
    return document
  }

  func difference(_ change: OracleChange, _ units: [OracleUnit]) -> OracleDocument {
    let isReconfigure = Self.weight(units) == 0
    var document = document(change, isReconfigure ? "reconfigure" : "diff")
    document.units = units
    return document
  }

  /// Entries other than `reconfigure`.
  static func weight(_ units: [OracleUnit]) -> Int {
    units.count { unit in
      if case .entry(_, "reconfigure") = unit.place { false } else { true }
    }
  }

  // MARK: - The planner

  /// The first reason that holds for a difference of this weight and these bytes; nil: none does.
  func reason(
    _ change: OracleChange,
    _ difference: OracleDifference,
    weight: Int,
    bytes: Int,
    reloadBytes: Int
  ) -> String? {
    let before = change.before?.itemCount ?? 0
    let after = change.after?.itemCount ?? 0
    let larger = max(before, after)
    if change.forced.feedReload { return "requested" }
    if weight == 0 { return nil }
    if before > 0, after > 0, difference.commonCount == 0 { return "disjoint" }
    if weight > planner.maxChanges { return "changes" }
    if larger >= planner.minimumItems {
      // The weight is not 0: divided by no items it is infinite, and so more than any fraction of them.
      if Double(weight) / Double(larger) > planner.maxChangedFraction { return "fraction" }
      let kinds = Double(difference.changedKinds)
      if after > 0, kinds / Double(after) > planner.maxKindFraction { return "kinds" }
    }
    if Double(bytes) > planner.maxBytesRatio * Double(reloadBytes) { return "bytes" }
    return nil
  }

  /// How to publish a change with a smallest set of moves.
  func choice(_ change: OracleChange) -> OracleChoice {
    guard let after = change.after else { return .delete }
    guard let before = change.before else { return .reload(reason: "initial") }
    let difference = OracleDifference(
      before: before,
      after: after,
      forced: change.forced,
      placements: change.placements
    )
    let moves = difference.fewestMoves
    let units = difference.units(moves)
    let reason = reason(
      change,
      difference,
      weight: Self.weight(units),
      bytes: self.difference(change, units).unsplit.count,
      reloadBytes: reload(change, reason: "bytes").unsplit.count
    )
    return reason.map { .reload(reason: $0) } ?? .difference(moves)
  }

  // MARK: - Records

  /// The records of one change, its keyframe or tombstones included.
  mutating func write(_ change: OracleChange, _ choice: OracleChoice) -> [JudgedRecord] {
    var log = logs[change.key] ?? OracleTopicLog()
    var records: [JudgedRecord]
    switch choice {
    case .delete:
      records = deltas(document(change, "delete"), change, &log)
      records += (0..<log.reloadKeys).map { null("k\($0)", change) }
      records += (0..<log.deltaKeys).map { null("d\($0 + 1)", change) }
      logs[change.key] = nil
      return records
    case .reload(let reason):
      records = reload(reload(change, reason: reason), change, idPrefix: "", &log)
    case .difference(let moves):
      let difference = OracleDifference(
        before: change.before ?? OracleFeed(),
        after: change.after ?? OracleFeed(),
        forced: change.forced,
        placements: change.placements
      )
      records = deltas(self.difference(change, difference.units(moves)), change, &log)
    }
    let ratio = keyframes.maxBytesRatio
    if log.deltas >= keyframes.maxDeltas || Double(log.deltaBytes) > ratio * Double(log.reloadBytes) {
      let keyframe = OracleChange(
        key: change.key,
        epoch: change.epoch,
        revision: change.revision,
        base: change.revision,
        time: change.time,
        through: change.through,
        before: change.before,
        after: change.after
      )
      let document = reload(keyframe, reason: "keyframe")
      records += reload(document, keyframe, idPrefix: "keyframe", &log)
    }
    logs[change.key] = log
    return records
  }

  private func reload(
    _ document: OracleDocument,
    _ change: OracleChange,
    idPrefix: String,
    _ log: inout OracleTopicLog
  ) -> [JudgedRecord] {
    let values = document.parts(maxBytes: output.maxMessageBytes)
    let surplus = log.reload(values)
    let records = values.enumerated().map { part, value in
      record("k\(part)", value, "\(idPrefix)\(part)", change)
    }
    return records + surplus.map { null("k\($0)", change) }
  }

  private func deltas(
    _ document: OracleDocument,
    _ change: OracleChange,
    _ log: inout OracleTopicLog
  ) -> [JudgedRecord] {
    document.parts(maxBytes: output.maxMessageBytes).enumerated().map { part, value in
      record("d\(log.delta(value))", value, "\(part)", change)
    }
  }

  private func record(
    _ slot: String,
    _ value: [UInt8],
    _ part: String,
    _ change: OracleChange
  )
    -> JudgedRecord
  {
    let id = change.key.id + Array("@\(change.epoch)@\(change.revision)/\(part)".utf8)
    return JudgedRecord(
      partition: change.key.partition,
      key: Array("\(slot)/".utf8) + change.key.id,
      value: value,
      headers: [
        JudgedHeader("content-type", "application/json"),
        JudgedHeader("ce_specversion", "1.0"),
        JudgedHeader("ce_type", "feedstore.changeset"),
        JudgedHeader("ce_source", output.source),
        JudgedHeader("ce_id", id),
        JudgedHeader("ce_subject", change.key.id),
        JudgedHeader("ce_time", OracleTime.text(milliseconds: change.time)),
        JudgedHeader("ce_sequence", OracleTime.padded(change.revision, 20)),
      ],
      timestamp: change.time
    )
  }

  private func null(_ slot: String, _ change: OracleChange) -> JudgedRecord {
    JudgedRecord(
      partition: change.key.partition,
      key: Array("\(slot)/".utf8) + change.key.id,
      value: nil,
      headers: [],
      timestamp: change.time
    )
  }
}
