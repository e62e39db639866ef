import Feed

/// Writes changes as records, in a given way.
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

  /// The number of entries, without `reconfigure`.
  static func weight(_ units: [OracleUnit]) -> Int {
    units.count { unit in
      if case .entry(_, "reconfigure") = unit.place { false } else { true }
    }
  }

  // MARK: - The planner

  /// The first reason that applies to a difference of this size; nil for none.
  func reason(
    _ change: OracleChange,
    _ difference: OracleDifference,
    _ weighing: OracleWeighing,
    reloadBytes: Int
  ) -> String? {
    let before = change.before?.itemCount ?? 0
    let after = change.after?.itemCount ?? 0
    let larger = max(before, after)
    let weight = Double(weighing.weight)
    if change.forced.feedReload { return "requested" }
    if weighing.weight == 0 { return nil }
    if before > 0, after > 0, difference.commonCount == 0 { return "disjoint" }
    if Double(reloadBytes) <= planner.maxReloadRatio * Double(weighing.bytes) {
      if weighing.weight > planner.maxChanges { return "changes" }
      // The weight is not 0. Divided by no items it is infinite, and so exceeds any fraction.
      if larger >= planner.minimumItems, weight / Double(larger) > planner.maxChangedFraction {
        return "fraction"
      }
    }
    let kinds = Double(difference.changedKinds)
    if larger >= planner.minimumItems, after > 0, kinds / Double(after) > planner.maxKindFraction {
      return "kinds"
    }
    if Double(weighing.bytes) > planner.maxBytesRatio * Double(reloadBytes) { return "bytes" }
    return nil
  }

  /// Whether the reason depends on the size of the difference.
  static func isWeighed(_ reason: String) -> Bool {
    ["changes", "fraction", "kinds", "bytes"].contains(reason)
  }

  func weighing(_ change: OracleChange, _ units: [OracleUnit]) -> OracleWeighing {
    OracleWeighing(weight: Self.weight(units), bytes: self.difference(change, units).unsplit.count)
  }

  /// The size of the reload with which differences are compared.
  func reloadBytes(_ change: OracleChange) -> Int { reload(change, reason: "bytes").unsplit.count }

  /// How to publish a change, with a minimal set of moves.
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
    let weighing = weighing(change, difference.units(moves))
    guard let reason = reason(change, difference, weighing, reloadBytes: reloadBytes(change)) else {
      return .difference(moves)
    }
    return .reload(reason: reason, Self.isWeighed(reason) ? weighing : nil)
  }

  // MARK: - The plan header

  private func plan(
    _ change: OracleChange,
    _ difference: OracleDifference,
    _ weighing: OracleWeighing
  ) -> String {
    let figures: [(String, String)] = [
      ("weight", "\(weighing.weight)"),
      ("itemsBefore", "\(change.before?.itemCount ?? 0)"),
      ("itemsAfter", "\(change.after?.itemCount ?? 0)"),
      ("changedKinds", "\(difference.changedKinds)"),
      ("differenceBytes", "\(weighing.bytes)"),
      ("reloadBytes", "\(reloadBytes(change))"),
      ("maxChanges", "\(planner.maxChanges)"),
      ("maxChangedFraction", Self.text(planner.maxChangedFraction)),
      ("minimumItems", "\(planner.minimumItems)"),
      ("maxKindFraction", Self.text(planner.maxKindFraction)),
      ("maxReloadRatio", Self.text(planner.maxReloadRatio)),
      ("maxBytesRatio", Self.text(planner.maxBytesRatio)),
    ]
    return Self.object(figures)
  }

  private func plan(keyframe document: OracleDocument, _ log: OracleTopicLog) -> String {
    Self.object([
      ("deltas", "\(log.deltas)"),
      ("deltaBytes", "\(log.deltaBytes)"),
      ("lastReloadBytes", "\(log.reloadBytes)"),
      ("keyframeBytes", "\(document.unsplit.count)"),
      ("maxDeltas", "\(keyframes.maxDeltas)"),
      ("maxBytesRatio", Self.text(keyframes.maxBytesRatio)),
    ])
  }

  private static func object(_ figures: [(name: String, value: String)]) -> String {
    "{" + figures.map { "\"\($0.name)\":\($0.value)" }.joined(separator: ",") + "}"
  }

  /// The shortest decimal number that reads back as the same value, without a fraction of 0.
  private static func text(_ number: Double) -> String {
    let text = "\(number)"
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }

  // MARK: - Records

  /// The records of one change, including its keyframe or tombstones.
  mutating func write(_ change: OracleChange, _ choice: OracleChoice) -> [JudgedRecord] {
    var log = logs[change.key] ?? OracleTopicLog()
    var records: [JudgedRecord]
    switch choice {
    case .delete:
      records = deltas(document(change, "delete"), change, nil, &log)
      records += (0..<log.reloadKeys).map { null("k\($0)", change) }
      records += (0..<log.deltaKeys).map { null("d\($0 + 1)", change) }
      logs[change.key] = nil
      return records
    case .reload(let reason, let weighing):
      let plan = weighing.map { self.plan(change, difference(change), $0) }
      records = reload(reload(change, reason: reason), change, idPrefix: "", plan, &log)
    case .difference(let moves):
      let difference = difference(change)
      let units = difference.units(moves)
      let weighing = weighing(change, units)
      let plan = weighing.weight == 0 ? nil : self.plan(change, difference, weighing)
      records = deltas(self.difference(change, units), change, plan, &log)
    }
    if log.deltas > 0 {
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
      let ratio = keyframes.maxBytesRatio
      let areLong = Double(log.deltaBytes) > ratio * Double(log.reloadBytes)
      let areMany = log.deltas >= keyframes.maxDeltas
      if areLong || (areMany && Double(document.unsplit.count) <= ratio * Double(log.deltaBytes)) {
        let plan = self.plan(keyframe: document, log)
        records += reload(document, keyframe, idPrefix: "keyframe", plan, &log)
      }
    }
    logs[change.key] = log
    return records
  }

  private func difference(_ change: OracleChange) -> OracleDifference {
    OracleDifference(
      before: change.before ?? OracleFeed(),
      after: change.after ?? OracleFeed(),
      forced: change.forced,
      placements: change.placements
    )
  }

  private func reload(
    _ document: OracleDocument,
    _ change: OracleChange,
    idPrefix: String,
    _ plan: String?,
    _ log: inout OracleTopicLog
  ) -> [JudgedRecord] {
    let values = document.parts(maxBytes: output.maxMessageBytes)
    let surplus = log.reload(values)
    let records = values.enumerated().map { part, value in
      record("k\(part)", value, "\(idPrefix)\(part)", change, part == 0 ? plan : nil)
    }
    return records + surplus.map { null("k\($0)", change) }
  }

  private func deltas(
    _ document: OracleDocument,
    _ change: OracleChange,
    _ plan: String?,
    _ log: inout OracleTopicLog
  ) -> [JudgedRecord] {
    document.parts(maxBytes: output.maxMessageBytes).enumerated().map { part, value in
      record("d\(log.delta(value))", value, "\(part)", change, part == 0 ? plan : nil)
    }
  }

  private func record(
    _ slot: String,
    _ value: [UInt8],
    _ part: String,
    _ change: OracleChange,
    _ plan: String?
  ) -> JudgedRecord {
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
      ] + (plan.map { [JudgedHeader("feedstore.plan", $0)] } ?? []),
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
