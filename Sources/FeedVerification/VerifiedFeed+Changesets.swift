import Feed

extension VerifiedFeed {
  /// Checks a changeset whose form is valid, and returns the record that must follow it.
  func take(
    _ form: ChangesetForm,
    _ key: RecordKey,
    _ expectation: Expectation?
  ) throws(Violation) -> Expectation? {
    try checkKey(form, key)
    var isKeyframeDue = false
    switch expectation {
    case .part(let pending):
      if pending.continues(with: form) { return try go(on: pending, form, key) }
      let violation = unexpected(found: form.name, expectation)
      try noteGap(violation.message)
    case .nulls: throw unexpected(found: form.name, expectation)
    case .keyframe:
      guard form.isKeyframe, form.record.part == 0 else {
        throw unexpected(found: form.name, expectation)
      }
      isKeyframeDue = true
    case nil: break
    }
    guard form.record.part == 0 else {
      try noteGap("\(form.name) follows without its earlier parts")
      return nil
    }
    return try begin(form, key, isKeyframeDue: isKeyframeDue)
  }

  private func checkKey(_ form: ChangesetForm, _ key: RecordKey) throws(Violation) {
    guard form.record.mode == .reload else {
      try require(key.kind == .delta) {
        "the key is \"k\(key.number)/…\", expected \"d<n>/…\": \(form.name) is not a reload"
      }
      return
    }
    try require(key.kind == .reload && key.number == form.record.part) {
      "the key is \"\(key.kind == .reload ? "k" : "d")\(key.number)/…\", "
        + "expected \"k\(form.record.part)/…\" for \(form.name)"
    }
  }

  /// Checks that a changeset names no older contents than those before it.
  func checkContents(_ header: ByteSpan?, _ form: ChangesetForm) throws(Violation) {
    guard let header, contents.map({ header.hasSameBytes(as: $0.span) }) != true else { return }
    guard let found = HeaderCheck.contentsOffsets(header) else {
      throw Violation(
        "the header \"feedstore.contents\" is \(header.quotedForMessage()), expected offsets by partition: {\"0\":123}"
      )
    }
    for (partition, before) in contents.flatMap({ HeaderCheck.contentsOffsets($0.span) }) ?? [:] {
      let offset = found[partition]
      try require(offset.map { $0 >= before } ?? false) {
        "feedstore.contents of \(form.name) falls from \(before) to \(offset.map(String.init) ?? "nothing") for partition "
          + "\(partition) of the contents, which is a fault unless topics.contents was created again"
      }
    }
    contents = OwnedSpan(header)
  }

  // MARK: The first or only part

  private func begin(
    _ form: ChangesetForm,
    _ key: RecordKey,
    isKeyframeDue: Bool
  ) throws(Violation) -> Expectation? {
    switch state {
    case .faulty: return nil
    case .known(let known):
      guard try succeeds(form, known, isKeyframeDue: isKeyframeDue) else { break }
      if form.record.mode == .delete { return try delete(form, key, known) }
      return try go(on: pending(form, known), form, key)
    case .absent, .gap: break
    }
    switch form.record.mode {
    case .reload:
      if !partition.options.mayBeCompacted, form.record.reason != .initial {
        throw Violation("the feed begins with \(form.name), expected revision 1 with reason \"initial\"")
      }
      return try go(on: PendingChangeset(form, state: FeedState(), comparison: nil), form, key)
    case .delete:
      try require(partition.options.mayBeCompacted) {
        "epoch \(form.record.epoch.quotedForMessage()) is deleted, but there is no such feed"
      }
      state = .absent
    case .diff, .reconfigure:
      try noteGap("\(form.name) follows without its reload")
    }
    return nil
  }

  /// Checks that a changeset may follow the feed's state; false if records between them are missing.
  private func succeeds(
    _ form: ChangesetForm,
    _ known: Known,
    isKeyframeDue: Bool
  ) throws(Violation) -> Bool {
    let record = form.record
    try require(known.replica.isOfEpoch(record)) {
      "the epoch is \(record.epoch.quotedForMessage()), expected "
        + "\"\(String(decoding: known.replica.epoch, as: UTF8.self))\": another begins after a deletion only"
    }
    let current = known.replica.revision
    if form.isKeyframe {
      try checkKeyframe(form, known, isDue: isKeyframeDue)
      return true
    }
    guard record.revision > current else {
      let isSame = record.revision == current
      throw Violation(
        "revision \(record.revision) follows \(isSame ? "itself" : "revision \(current)"), "
          + "expected \(current + 1)"
      )
    }
    guard record.revision == current + 1 else {
      try noteGap("revision \(record.revision) follows revision \(current)")
      return false
    }
    if !partition.options.mayBeCompacted || !hasForgotten(form, known.replica.through) {
      try checkThrough(form, known.replica.through)
    }
    return true
  }

  private func checkKeyframe(_ form: ChangesetForm, _ known: Known, isDue: Bool) throws(Violation) {
    let current = known.replica.revision
    try require(form.record.revision == current) {
      "a keyframe is of revision \(form.record.revision), expected \(current)"
    }
    try require(isDue) {
      "a keyframe follows revision \(current), but none is due with \(known.keys.deltas) delta records of "
        + "\(known.keys.deltaBytes) bytes since the reload of \(known.keys.reloadBytes) bytes"
    }
    try require(form.record.time.buffer.elementsEqual(known.time)) {
      "the keyframe's time is \(form.record.time.quotedForMessage()), "
        + "expected \"\(String(decoding: known.time, as: UTF8.self))\" as in the changeset before"
    }
    try require(form.head.through == known.replica.through) {
      "the keyframe's through is not that of the changeset before"
    }
  }

  /// Whether `through` has gone back for a topic.
  private func hasForgotten(_ form: ChangesetForm, _ before: [TopicOffset]) -> Bool {
    before.contains { entry in form.head.through.offset(entry.topic).map { $0 < entry.offset } ?? true }
  }

  private func checkThrough(_ form: ChangesetForm, _ before: [TopicOffset]) throws(Violation) {
    var hasRisen = form.head.through.count > before.count
    for entry in before {
      guard let offset = form.head.through.offset(entry.topic) else {
        throw Violation("through lacks topic \"\(entry.name)\", which it had before")
      }
      try require(offset >= entry.offset) {
        "through falls from \(entry.offset) to \(offset) for topic \"\(entry.name)\""
      }
      if offset > entry.offset { hasRisen = true }
    }
    if hasRisen || form.hasContents { return }
    // A changeset without a newer record deletes items that have ended.
    let mayEndItems =
      form.record.mode == .diff
      || form.record.reason.map { [.changes, .fraction, .bytes].contains($0) } == true
    try require(mayEndItems) {
      "through is the same as before, and without a newer record only items that ended are deleted"
    }
  }

  private func pending(_ form: ChangesetForm, _ known: Known) -> PendingChangeset {
    guard form.record.mode == .reload else { return PendingChangeset(form, state: nil, comparison: nil) }
    return PendingChangeset(
      form,
      state: form.isKeyframe ? nil : FeedState(),
      comparison: ReloadComparison(known.replica.state, countsCommonItems: !form.isKeyframe)
    )
  }

  // MARK: Every part

  private func go(
    on pending: PendingChangeset,
    _ form: ChangesetForm,
    _ key: RecordKey
  ) throws(Violation) -> Expectation? {
    var pending = pending
    let bytes = form.record.text.bytes.count
    if case .known(var known) = state, key.kind == .delta {
      try checkNumber(key, known)
      known.keys.noteDelta(bytes: bytes)
      state = .known(known)
    }
    try pending.take(form, bytes: bytes)
    guard pending.isComplete else { return .part(pending) }
    time = form.head.time
    if form.record.mode == .reload { return try finishReload(&pending, form) }
    return try finishDifference(pending, form)
  }

  private func checkNumber(_ key: RecordKey, _ known: Known) throws(Violation) {
    try require(key.number == known.keys.deltas + 1) {
      "the key is \"d\(key.number)/\(name)\", expected \"d\(known.keys.deltas + 1)/\(name)\": "
        + "\(known.keys.deltas) delta records follow the reload"
    }
  }

  private func delete(
    _ form: ChangesetForm,
    _ key: RecordKey,
    _ known: Known
  ) throws(Violation) -> Expectation? {
    try checkNumber(key, known)
    var keys = known.keys
    keys.noteDelta(bytes: form.record.text.bytes.count)
    state = .absent
    time = form.head.time
    return .nulls(keys.deletion(isWhole: known.isWhole), isDeletion: true)
  }

  private func finishDifference(
    _ pending: PendingChangeset,
    _ form: ChangesetForm
  ) throws(Violation) -> Expectation? {
    guard case .known(var known) = state else { preconditionFailure("a difference without a known state") }
    var entries = form.entries
    if !pending.values.isEmpty {
      entries = DecodedEntries()
      for part in pending.values { try partition.decoder.append(part.span, to: &entries) }
      try entries.append(form.record)
    }
    let check = EntryCheck(entries)
    try check.checkMode(form.record.mode)
    try check.checkBaseOrder(known.replica.state)
    let itemsBefore = known.replica.itemCount
    let isEnd = form.head.through == known.replica.through
    if isEnd { try checkEnds(entries, form, known.replica.state) }
    try known.replica.apply(entries, form.record)
    if isEnd, !form.hasContents, let end = known.replica.state.earliestEnd, end < form.head.time {
      throw Violation(
        "an item that ended earlier, at \(TimestampFormat.withText(of: end) { $0.text }), is still there"
      )
    }
    try check.checkResultOrder(known.replica.state)
    // Ordered sections must be in order, and no section may exceed its limit.
    if let fault = known.replica.state.orderFault(after: entries) { throw Violation(fault) }
    try check.checkIdentifiers()
    try IdleMoves.check(entries)
    try PlanCheck(form: form, plan: pending.plan).check(
      entries,
      differenceBytes: pending.parts == 1 ? form.record.text.bytes.count : nil,
      itemsBefore: itemsBefore,
      after: known.replica.state
    )
    known.time = Array(form.record.time.buffer)
    state = .known(known)
    let keyframeBytes = known.replica.state.reloadByteCount(
      headBytes: form.reloadHeadBytes(.keyframe)
    )
    return known.keys.keyframeReason(partition.options.keyframes, keyframeBytes: keyframeBytes)
      .map { .keyframe($0) }
  }

  /// Checks a changeset that no newer record has caused: it only deletes items, by the time of the last end, and changes
  /// those whose contents changed.
  private func checkEnds(
    _ entries: DecodedEntries,
    _ form: ChangesetForm,
    _ state: FeedState
  ) throws(Violation) {
    let deleted = entries.items[.delete]
    let shown = form.hasContents ? entries.items[.reconfigure].count + entries.items[.move].count : 0
    try require(entries.sections.count == 0 && entries.items.count == deleted.count + shown) {
      "through is the same as before, and without a newer record only items that ended are deleted"
    }
    var last = Int64.min
    for entry in deleted {
      guard let end = state.end(of: entry.id) else {
        throw Violation(
          "item \(entry.id.quotedForMessage()) is deleted without a newer record, and has no end"
        )
      }
      last = max(last, end)
    }
    try require(form.head.time == last || form.hasContents && form.head.time > last) {
      "the time is \(form.record.time.quotedForMessage()), expected \(TimestampFormat.withText(of: last) { $0.text }): the last end of "
        + "the items that are deleted"
    }
  }

  private func finishReload(
    _ pending: inout PendingChangeset,
    _ form: ChangesetForm
  ) throws(Violation) -> Expectation? {
    let (reloaded, comparison) = pending.finishReload()
    if let fault = reloaded?.orderFault(after: nil) { throw Violation(fault) }
    let replica: Replica
    var keys = KeyUse()
    var isWhole = form.record.reason == .initial
    if case .known(let known) = state {
      (replica, keys, isWhole) = (known.replica, known.keys, known.isWhole)
      if let comparison { try check(comparison, form, replica) }
      try checkChecksum(form, reloaded ?? replica.state)
      let plan = PlanCheck(form: form, plan: pending.plan)
      try plan.check(known.keys, partition.options.keyframes, replica.state)
      try plan.check(itemsBefore: replica.itemCount, after: reloaded ?? replica.state)
      if let reloaded { replica.replace(with: reloaded, form.record) }
    } else {
      guard let reloaded else { preconditionFailure("a reload without a state") }
      try checkChecksum(form, reloaded)
      try PlanCheck(form: form, plan: pending.plan).check(itemsBefore: nil, after: reloaded)
      replica = Replica(feed: name, state: reloaded, form.record)
    }
    replica.state.trackEnds()
    let surplus = keys.noteReload(parts: pending.parts, bytes: pending.byteCount)
    state = .known(
      Known(replica: replica, keys: keys, time: Array(form.record.time.buffer), isWhole: isWhole)
    )
    return surplus.isEmpty ? nil : .nulls(NullsDue(reloads: surplus), isDeletion: false)
  }

  private func checkChecksum(_ form: ChangesetForm, _ state: FeedState) throws(Violation) {
    try require(state.checksum == form.record.checksum) {
      "the checksum of \(form.name) is \(Replica.hexadecimal(form.record.checksum)), "
        + "expected \(Replica.hexadecimal(state.checksum))"
    }
  }

  /// Checks a reload against the feed's previous state.
  private func check(
    _ comparison: ReloadComparison,
    _ form: ChangesetForm,
    _ replica: Replica
  ) throws(Violation) {
    if form.isKeyframe, let difference = comparison.difference {
      throw Violation("the keyframe differs from the feed: \(difference)")
    }
    guard let reason = form.record.reason, reason != .keyframe, reason != .requested else { return }
    let isDisjoint = replica.itemCount > 0 && comparison.itemCount > 0 && comparison.commonItems == 0
    try require(isDisjoint == (reason == .disjoint)) {
      "the reason of \(form.name) is \"\(reason.rawValue)\", "
        + (isDisjoint
          ? "expected \"disjoint\": no item stayed" : "but \(comparison.commonItems) items stayed")
    }
  }
}
