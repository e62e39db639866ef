/// Writes the changes of one feed after another: plans, encodes, splits, and names the records so that the
/// compacted topic always describes the current state.
///
/// One publisher serves a store; `begin` a feed, then call `writeNext` until it returns false. The records
/// are in the order of the protocol, section 3.2.
public final class ChangesetPublisher {
  private let planner: PlannerThresholds
  private let keyframes: KeyframePolicy
  private let maxMessageBytes: Int

  @exclusivity(unchecked) private var body = DifferenceBody()
  private let scratch = ByteWriter(capacity: 1024)
  /// The remaining steps of the current feed.
  @exclusivity(unchecked) private var steps: [Step] = []
  private var feed: PublishedFeed?
  @exclusivity(unchecked) private var version = PublishedVersion(epoch: [], revision: 0, through: [])
  @exclusivity(unchecked) private var time: Int64 = 0

  private enum Step {
    case difference(FeedDifference, ChangesetHead, headBytes: Int, plan: ChangesetPlan?)
    case reload(ReloadWriter, isKeyframe: Bool, plan: ChangesetPlan?, bytes: Int)
    case deletion(ChangesetHead)
    /// Nulls for the keys of a kind with these numbers, which may be many.
    case tombstones(StaticString, Range<Int>)
  }

  public init(planner: PlannerThresholds, keyframes: KeyframePolicy, output: OutputOptions) {
    self.planner = planner
    self.keyframes = keyframes
    maxMessageBytes = output.maxMessageBytes
  }

  /// The number of nulls that one step writes.
  private static let nullsAtOnce = 10_000

  /// Plans a feed's changeset. Nil if nothing has changed.
  public func begin(_ feed: PublishedFeed) -> PublicationOutcome? {
    self.feed = feed
    steps.removeAll()
    feed.pendingVersion = nil
    time = feed.windowTime
    wroteKeyframe = false
    return feed.exists ? planChange(feed) : planDeletion(feed)
  }

  /// Writes the next records: a difference with all its parts, one part of a reload, or some nulls. False
  /// when the feed is done.
  public func writeNext(to output: RecordBuffer) -> Bool {
    guard let feed, let step = steps.first else {
      feed = nil
      return false
    }
    if write(step, feed, output) { steps.removeFirst() }
    return true
  }

  /// Whether a keyframe followed the changeset.
  public private(set) var wroteKeyframe = false

  // MARK: Planning

  private func nextVersion(_ feed: PublishedFeed) -> PublishedVersion {
    var next = feed.version ?? PublishedVersion(epoch: feed.pendingEpoch, revision: 0, through: [])
    next.revision += 1
    for entry in feed.windowThrough { next.through.raise(entry.topic, to: entry.offset) }
    return next
  }

  private func head(_ feed: PublishedFeed, _ mode: ChangesetMode, _ reason: ReloadReason?) -> ChangesetHead {
    ChangesetHead(
      feed: feed.id,
      epoch: version.epoch,
      revision: version.revision,
      base: version.revision - 1,
      mode: mode,
      reason: reason,
      time: time,
      through: version.through,
      checksum: mode == .delete ? 0 : feed.state.totals.checksum
    )
  }

  private func planDeletion(_ feed: PublishedFeed) -> PublicationOutcome? {
    guard feed.version != nil else { return nil }
    version = nextVersion(feed)
    feed.pendingVersion = .some(nil)
    let parts = version.reloadParts
    let deltas = max(version.highestDelta, version.deltaCount + 1)
    steps = [
      .deletion(head(feed, .delete, nil)),
      .tombstones("k", 0..<parts),
      .tombstones("d", 1..<deltas + 1),
    ]
    return PublicationOutcome(mode: .delete)
  }

  private func planChange(_ feed: PublishedFeed) -> PublicationOutcome? {
    let state = feed.state
    let tally = state.tally()
    let change = PlannedChange(
      isInitial: feed.version == nil,
      isReloadRequested: feed.isReloadRequested,
      publishedItemCount: state.publishedTotals.itemCount,
      itemCount: state.totals.itemCount,
      tally: tally
    )
    if let reason = change.certainReason { return planReload(feed, reason) }
    if tally.isEmpty { return nil }

    let difference = state.difference()
    if difference.isEmpty { return nil }
    version = nextVersion(feed)
    let mode = difference.isReconfigureOnly ? ChangesetMode.reconfigure : .diff
    let head = head(feed, mode, nil)
    let headBytes = head.byteCount(scratch: scratch)
    var plan: ChangesetPlan?
    if mode == .diff {
      let weighed = weigh(feed, difference, change, headBytes: headBytes)
      plan = .weighed(weighed)
      if let reason = weighed.reason { return planReload(feed, reason, plan) }
    }
    if mayPassGreatestNumber(difference, of: state, headBytes: headBytes) {
      return planReload(feed, .bytes, plan)
    }
    steps = [.difference(difference, head, headBytes: headBytes, plan: plan)]
    return PublicationOutcome(mode: mode, counts: .init(difference.sections, difference.items))
  }

  private func weigh(
    _ feed: PublishedFeed,
    _ difference: FeedDifference,
    _ change: PlannedChange,
    headBytes: Int
  ) -> WeighedDifference {
    let reloadHead = head(feed, .reload, .bytes)
    var weighed = WeighedDifference()
    weighed.weight = difference.weight
    weighed.itemsBefore = change.publishedItemCount
    weighed.itemsAfter = change.itemCount
    weighed.changedKinds = change.tally.changedKindCount
    weighed.differenceBytes = headBytes + DifferenceBody.byteCount(difference, of: feed.state) + 1
    weighed.reloadBytes = ReloadWriter.byteCount(
      feed.state,
      headBytes: reloadHead.byteCount(scratch: scratch)
    )
    weighed.thresholds = planner
    return weighed
  }

  /// Whether keys lack numbers for all parts of the difference and a deletion after it.
  private func mayPassGreatestNumber(
    _ difference: FeedDifference,
    of state: FeedState,
    headBytes: Int
  ) -> Bool {
    guard version.deltaCount + difference.entryCount >= RecordKey.greatestNumber else { return false }
    body.encode(difference, of: state)
    defer { body.removeAll() }
    let parts = body.partCount(headBytes: headBytes, limit: maxMessageBytes)
    return version.deltaCount + parts >= RecordKey.greatestNumber
  }

  private func planReload(
    _ feed: PublishedFeed,
    _ reason: ReloadReason,
    _ plan: ChangesetPlan? = nil
  ) -> PublicationOutcome {
    version = nextVersion(feed)
    appendReload(feed, head(feed, .reload, reason), isKeyframe: false, plan)
    return PublicationOutcome(mode: .reload, reason: reason)
  }

  private func appendReload(
    _ feed: PublishedFeed,
    _ head: ChangesetHead,
    isKeyframe: Bool,
    _ plan: ChangesetPlan?
  ) {
    let writer = ReloadWriter(
      feed.state,
      head: head,
      headBytes: head.byteCount(scratch: scratch),
      limit: maxMessageBytes
    )
    precondition(
      writer.partCount <= RecordKey.greatestNumber,
      "feed \(feed.id.quotedForMessage()) has more than \(RecordKey.greatestNumber) parts; raise output.maxMessageBytes"
    )
    steps.append(.reload(writer, isKeyframe: isKeyframe, plan: plan, bytes: 0))
    if writer.partCount < version.reloadParts {
      steps.append(.tombstones("k", writer.partCount..<version.reloadParts))
    }
  }

  // MARK: Writing

  /// Writes a step or a part of it; true at its end.
  private func write(_ step: Step, _ feed: PublishedFeed, _ output: RecordBuffer) -> Bool {
    switch step {
    case .difference(let difference, let head, let headBytes, let plan):
      writeDifference(difference, head, headBytes, plan, feed, output)
      return true
    case .deletion(let head):
      let start = output.bytes.count
      head.write(part: nil, to: output.bytes)
      output.bytes.append(UInt8(ascii: "}"))
      append("d", version.deltaCount + 1, of: feed.id, valueStart: start, eventSuffix: "0", to: output)
      return true
    case .reload(var writer, let isKeyframe, let plan, var bytes):
      let start = output.bytes.count
      let part = writer.writePart(to: output.bytes)
      bytes += output.bytes.count - start
      let suffix = (isKeyframe ? "keyframe" : "") + String(part)
      let partPlan = part == 0 ? plan : nil
      append("k", part, of: feed.id, valueStart: start, eventSuffix: suffix, partPlan, to: output)
      guard writer.isFinished else {
        steps[0] = .reload(writer, isKeyframe: isKeyframe, plan: plan, bytes: bytes)
        return false
      }
      version.deltaCount = 0
      version.deltaBytes = 0
      version.reloadBytes = bytes
      version.reloadParts = writer.partCount
      feed.pendingVersion = version
      return true
    case .tombstones(let prefix, let numbers):
      let slice = numbers.prefix(ChangesetPublisher.nullsAtOnce)
      for number in slice { append(prefix, number, of: feed.id, valueStart: nil, to: output) }
      guard slice.count < numbers.count else { return true }
      steps[0] = .tombstones(prefix, numbers.dropFirst(slice.count))
      return false
    }
  }

  private func writeDifference(
    _ difference: FeedDifference,
    _ head: ChangesetHead,
    _ headBytes: Int,
    _ plan: ChangesetPlan?,
    _ feed: PublishedFeed,
    _ output: RecordBuffer
  ) {
    let start = output.bytes.count
    head.write(part: nil, to: output.bytes)
    var mayBeWhole = true
    // The difference's size may be known already, and be too large.
    if case .weighed(let weighed)? = plan { mayBeWhole = weighed.differenceBytes <= maxMessageBytes }
    // The closing brace is one more byte.
    let most = maxMessageBytes - headBytes - 1
    if mayBeWhole, DifferenceBody.write(difference, of: feed.state, to: output.bytes, atMost: most) {
      output.bytes.append(UInt8(ascii: "}"))
      noteDelta(part: 0, start, head, plan, output)
    } else {
      output.bytes.truncate(to: start)
      body.encode(difference, of: feed.state)
      body.write(head: head, headBytes: headBytes, limit: maxMessageBytes, to: output.bytes) { part, start in
        noteDelta(part: part, start, head, plan, output)
      }
      body.removeAll()
    }
    version.highestDelta = max(version.highestDelta, version.deltaCount)
    feed.pendingVersion = version
    var keyframe = self.head(feed, .reload, .keyframe)
    keyframe.base = version.revision
    guard let due = dueKeyframe(feed, keyframe) else { return }
    wroteKeyframe = true
    appendReload(feed, keyframe, isKeyframe: true, .keyframe(due))
  }

  /// Adds a record whose value was written from an offset on.
  private func noteDelta(
    part: Int,
    _ start: Int,
    _ head: ChangesetHead,
    _ plan: ChangesetPlan?,
    _ output: RecordBuffer
  ) {
    version.deltaCount += 1
    version.deltaBytes += output.bytes.count - start
    append(
      "d",
      version.deltaCount,
      of: head.feed,
      valueStart: start,
      eventSuffix: String(part),
      part == 0 ? plan : nil,
      to: output
    )
  }

  /// Adds a record.
  ///
  /// - Parameter valueStart: the offset of its value, which ends with the buffer; nil for a null.
  private func append(
    _ keyPrefix: StaticString,
    _ number: Int,
    of feed: ByteSpan,
    valueStart: Int?,
    eventSuffix: String = "",
    _ plan: ChangesetPlan? = nil,
    to output: RecordBuffer
  ) {
    output.append(
      keyPrefix: keyPrefix,
      number: number,
      feed: feed,
      valueStart: valueStart,
      eventSuffix: eventSuffix,
      epoch: version.epoch,
      revision: version.revision,
      time: time,
      plan: plan
    )
  }

  private func dueKeyframe(_ feed: PublishedFeed, _ head: ChangesetHead) -> DueKeyframe? {
    let isDueByBytes = keyframes.isDue(deltaBytes: version.deltaBytes, lastReloadBytes: version.reloadBytes)
    // The keyframe's size requires its head, and only one of the two conditions needs it.
    guard isDueByBytes || version.deltaCount >= keyframes.maxDeltas else { return nil }
    var due = DueKeyframe()
    due.deltas = version.deltaCount
    due.deltaBytes = version.deltaBytes
    due.lastReloadBytes = version.reloadBytes
    due.keyframeBytes = ReloadWriter.byteCount(feed.state, headBytes: head.byteCount(scratch: scratch))
    due.policy = keyframes
    let isDueByCount = keyframes.isDue(
      deltas: due.deltas,
      deltaBytes: due.deltaBytes,
      keyframeBytes: due.keyframeBytes
    )
    return isDueByBytes || isDueByCount ? due : nil
  }
}

/// The publication of a feed in a flush, for the counters.
public struct PublicationOutcome: Sendable, Equatable {
  public var mode: ChangesetMode
  public var reason: ReloadReason?
  public var counts = EntryCounts()

  /// Entries of sections and items by kind. A reload has none.
  public struct EntryCounts: Sendable, Equatable {
    public var deletes = 0
    public var inserts = 0
    public var moves = 0
    public var reconfigures = 0
    public var reloads = 0

    public init() {}

    init<Entry>(_ sections: EntryLists<Entry>, _ items: EntryLists<Entry>) {
      for lists in [sections, items] {
        deletes += lists[.delete].count
        inserts += lists[.insert].count
        moves += lists[.move].count
        reconfigures += lists[.reconfigure].count
        reloads += lists[.reload].count
      }
    }

    package mutating func add(_ other: EntryCounts) {
      deletes += other.deletes
      inserts += other.inserts
      moves += other.moves
      reconfigures += other.reconfigures
      reloads += other.reloads
    }
  }
}
