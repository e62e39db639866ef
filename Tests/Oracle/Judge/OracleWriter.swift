import Feed
import Foundation

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
    let isReconfigure = Self.weight(units) == 0 && keeps(.reconfigureMode)
    var document = document(change, isReconfigure ? "reconfigure" : "diff")
    document.units = units
    return document
  }

  /// The number of entries, without `reconfigure`.
  static func weight(_ units: [OracleUnit]) -> Int {
    units.count { unit in
      switch unit.place {
      case .entry(_, "reconfigure"): !keeps(.weightWithoutReconfigure)
      case .entry("sections", _): keeps(.weightWithSections)
      default: true
      }
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
    let larger = keeps(.fractionOfGreater) ? max(before, after) : min(before, after)
    let weight = Double(weighing.weight)
    let hasManyItems =
      larger > planner.minimumItems || larger == planner.minimumItems && keeps(.minimumIsEnough)
      || !keeps(.minimumItems)
    /// Whether a number exceeds a threshold; with a broken rule also if it equals it.
    func passes(_ number: Double, _ threshold: Double, _ rule: Rule) -> Bool {
      number > threshold || number == threshold && !keeps(rule)
    }
    let most = planner.maxReloadRatio * Double(weighing.bytes)
    let isWorth = Double(reloadBytes) < most || Double(reloadBytes) == most && keeps(.worthAtMost)
    let isBytes =
      passes(Double(weighing.bytes), planner.maxBytesRatio * Double(reloadBytes), .bytesIsMore)
      && keeps(.bytesReason)
    let isRequested = change.forced.feedReload && keeps(.requestedReason)
    if isRequested, keeps(.requestedFirst) { return "requested" }
    if weighing.weight == 0, keeps(.reconfigureIsNoReload), !isRequested { return nil }
    let areBoth = before > 0 && after > 0
    if areBoth || before + after > 0 && !keeps(.disjointHasBoth), difference.commonCount == 0,
      keeps(.disjointReason)
    {
      return "disjoint"
    }
    if isRequested { return "requested" }
    if isBytes, !keeps(.firstReason) { return "bytes" }
    if isWorth || !keeps(.changesIsWorth), passes(weight, Double(planner.maxChanges), .changesIsMore),
      keeps(.changesReason)
    {
      return "changes"
    }
    // The weight is not 0. Divided by no items it is infinite, and so exceeds any fraction.
    if isWorth || !keeps(.fractionIsWorth), hasManyItems, larger > 0 || keeps(.fractionOfNone),
      passes(weight / Double(larger), planner.maxChangedFraction, .fractionIsMore), keeps(.fractionReason)
    {
      return "fraction"
    }
    let kinds = Double(difference.changedKinds) / Double(keeps(.kindsOfResult) ? after : before)
    if hasManyItems, after > 0, passes(kinds, planner.maxKindFraction, .kindsIsMore), keeps(.kindsReason),
      isWorth || keeps(.kindsNeedNotBeWorth)
    {
      return "kinds"
    }
    return isBytes ? "bytes" : nil
  }

  /// Whether the reason depends on the size of the difference.
  static func isWeighed(_ reason: String) -> Bool {
    ["changes", "fraction", "kinds", "bytes"].contains(reason)
  }

  func weighing(_ change: OracleChange, _ units: [OracleUnit]) -> OracleWeighing {
    let document = difference(change, units)
    let bytes = keeps(.measuredWhole) ? document.unsplit.count : partBytes(document)
    return OracleWeighing(weight: Self.weight(units), bytes: bytes)
  }

  /// The size of the reload with which differences are compared.
  func reloadBytes(_ change: OracleChange) -> Int {
    reload(change, reason: keeps(.measuredAsBytes) ? "bytes" : "fraction").unsplit.count
  }

  private func partBytes(_ document: OracleDocument) -> Int {
    document.parts(maxBytes: output.maxMessageBytes).reduce(0) { $0 + $1.count }
  }

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
    let moves = keeps(.fewestMoves) ? difference.fewestMoves : difference.allMoves
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
    let text = keeps(.planInFewestDigits) ? "\(number)" : String(format: "%.17g", number)
    if !keeps(.planWithoutFraction) { return text }
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
      var nulls = (0..<(keeps(.nullsOfReload) ? log.reloadKeys : 0)).map { null("k\($0)", change) }
      let deltas = keeps(.nullsOfEarlierDeltas) ? log.deltaKeys : log.deltas
      nulls += (0..<(keeps(.nullsOfDeltas) ? deltas : 0)).map { null("d\($0 + 1)", change) }
      logs[change.key] = keeps(.keysOfNewLife) ? nil : log
      return records + (keeps(.nullsInOrder) ? nulls : nulls.reversed())
    case .reload(let reason, let weighing):
      let open = keeps(.planOnlyIfCompared) ? nil : self.weighing(change, [])
      let plan = (weighing ?? open).map { self.plan(change, difference(change), $0) }
      records = reload(reload(change, reason: reason), change, idPrefix: "", plan, &log)
    case .difference(let moves):
      let difference = difference(change)
      let units = difference.units(moves)
      let weighing = weighing(change, units)
      let plan = weighing.weight == 0 ? nil : self.plan(change, difference, weighing)
      records = deltas(self.difference(change, units), change, plan, &log)
    }
    let deltas = keeps(.keyframeWithThisChange) ? log.deltas : logs[change.key]?.deltas ?? 0
    if deltas > 0 {
      let keyframe = OracleChange(
        key: change.key,
        epoch: change.epoch,
        revision: change.revision,
        base: keeps(.keyframeBase) ? change.revision : change.base,
        time: change.time,
        through: change.through,
        before: change.before,
        after: change.after,
        contents: change.contents
      )
      let document = reload(keyframe, reason: "keyframe")
      let ratio = keyframes.maxBytesRatio
      let mostBytes = ratio * Double(log.reloadBytes)
      let areLong =
        (Double(log.deltaBytes) > mostBytes
          || Double(log.deltaBytes) == mostBytes && !keeps(.keyframeBytesIsMore))
        && keeps(.keyframeByBytes)
      let areMany =
        (deltas > keyframes.maxDeltas || deltas == keyframes.maxDeltas && keeps(.keyframeDeltasReached))
        && keeps(.keyframeByNumber)
      let size = Double(keeps(.keyframeWhole) ? document.unsplit.count : partBytes(document))
      let most = ratio * Double(log.deltaBytes)
      let isSmall = size < most || size == most && keeps(.keyframeAtMost) || !keeps(.keyframeNotTooLarge)
      if areLong || (areMany && isSmall) {
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
      let number = keeps(.reloadsFromZero) ? part : part + 1
      return record("k\(number)", value, "\(idPrefix)\(part)", change, hasPlan(part) ? plan : nil)
    }
    return records + (keeps(.nullsOfShorterReload) ? surplus.map { null("k\($0)", change) } : [])
  }

  private func deltas(
    _ document: OracleDocument,
    _ change: OracleChange,
    _ plan: String?,
    _ log: inout OracleTopicLog
  ) -> [JudgedRecord] {
    document.parts(maxBytes: output.maxMessageBytes).enumerated().map { part, value in
      let isSame = part > 0 && !keeps(.deltaOfEachPart)
      let number = isSame ? log.deltas : log.delta(value)
      return record("d\(number)", value, "\(part)", change, hasPlan(part) ? plan : nil)
    }
  }

  private func hasPlan(_ part: Int) -> Bool { part == 0 || !keeps(.planOnFirstPart) }

  private func record(
    _ slot: String,
    _ value: [UInt8],
    _ part: String,
    _ change: OracleChange,
    _ plan: String?
  ) -> JudgedRecord {
    let number = keeps(.idOfPart) ? part : part.filter(\.isLetter) + "0"
    let name = keeps(.idOfKeyframe) ? number : number.filter(\.isNumber)
    let id = change.key.id + Array("@\(change.epoch)@\(change.revision)/\(name)".utf8)
    return JudgedRecord(
      partition: change.key.partition,
      key: Array("\(slot)/".utf8) + change.key.id,
      value: value,
      headers: [
        JudgedHeader("content-type", "application/json"),
        JudgedHeader("ce_specversion", "1.0"),
        JudgedHeader("ce_type", "feedstore.changeset"),
        JudgedHeader("ce_source", keeps(.sourceIsConfigured) ? output.source : "/feedstore"),
        JudgedHeader("ce_id", id),
        JudgedHeader("ce_subject", change.key.id),
        JudgedHeader("ce_time", OracleTime.text(milliseconds: change.time)),
        JudgedHeader("ce_sequence", OracleTime.padded(change.revision, keeps(.sequenceDigits) ? 20 : 1)),
      ].filter { keeps(.eventHeaders) || !$0.name.hasPrefix("ce_") }
        + (plan.map { [JudgedHeader("feedstore.plan", $0)] } ?? [])
        + (change.contents.isEmpty || !keeps(.contentsHeader)
          ? [] : [JudgedHeader("feedstore.contents", contents(change))]),
      timestamp: change.time
    )
  }

  private func contents(_ change: OracleChange) -> String {
    "{"
      + change.contents.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
      + "}"
  }

  private func null(_ slot: String, _ change: OracleChange) -> JudgedRecord {
    JudgedRecord(
      partition: change.key.partition,
      key: Array("\(slot)/".utf8) + change.key.id,
      value: nil,
      headers: keeps(.nullsWithoutHeaders) ? [] : [JudgedHeader("content-type", "application/json")],
      timestamp: keeps(.nullsHaveTime) ? change.time : 0
    )
  }
}

/// How a change is published: the only part of a changeset that can be open.
enum OracleChoice: Equatable {
  case delete
  case difference(OracleMoves)
  /// - Parameter weighing: the size of the difference, if it was considered.
  case reload(reason: String, OracleWeighing? = nil)
}

/// The size of a difference: its weight, and its bytes as one value. Both depend on the chosen moves.
struct OracleWeighing: Equatable {
  var weight: Int
  var bytes: Int
}

/// The records of a feed's epoch on the topic.
struct OracleTopicLog: Equatable {
  /// The number of deltas since the last reload, and the size of their values.
  var deltas = 0
  var deltaBytes = 0
  /// The size of the last reload's values.
  var reloadBytes = 0
  /// The number of `k` keys with a value: those below this number.
  var reloadKeys = 0
  /// The highest `d` key of the epoch.
  var deltaKeys = 0

  /// Adds a reload with these values. Returns the `k` keys that it no longer uses.
  mutating func reload(_ values: [[UInt8]]) -> Range<Int> {
    let surplus = values.count..<max(values.count, reloadKeys)
    if keeps(.reloadRestarts) { deltas = 0 }
    deltaBytes = 0
    reloadBytes = values.reduce(0) { $0 + $1.count }
    reloadKeys = values.count
    return surplus
  }

  /// Adds a delta. Returns its number.
  mutating func delta(_ value: [UInt8]) -> Int {
    deltas += 1
    deltaBytes += value.count
    deltaKeys = max(deltaKeys, deltas)
    return deltas
  }
}
