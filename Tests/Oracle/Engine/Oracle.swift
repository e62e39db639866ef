public import Feed
public import FeedStore

/// A plain implementation of the protocol, with arrays, copies and comparisons of whole feeds.
///
/// Use `take` and `finish`, which coalesce as a replay does, or `apply` and `flush`, where the caller decides when to
/// flush. It is a value: a copy is a snapshot to return to.
public struct Oracle: Sendable {
  let limits: Limits
  private let contentsTopic: String?
  /// The contents, and for each partition of their topic the newest record.
  var contents: OracleContents = [:]
  var seenContents: [Int: Int] = [:]
  private let coalescing: CoalescingOptions
  private let rejectsAppliedRecords: Bool
  private var feeds: [OracleFeedKey: OracleFeedState] = [:]
  private var rejected: [OracleRejected] = []
  private var waiting = 0
  private var waitingBytes = 0
  /// The additional count of the waiting records, because rejected ones had removed many elements.
  private var charge = 0
  /// The remainder below a hundred, if a rule is broken.
  private var uncharged = 0
  private var firstTimestamp = 0
  /// When the previous flush was due; nil before the first.
  private var lastDue: Int?

  /// - Parameters:
  ///   - rejectsAppliedRecords: whether the form of key and value is checked even for records that count as already
  ///     applied, or such records are skipped unread.
  ///   - contentsTopic: the topic with the contents that items refer to; nil if items have no references.
  public init(
    limits: Limits = Limits(),
    coalescing: CoalescingOptions = CoalescingOptions(),
    rejectsAppliedRecords: Bool = false,
    contentsTopic: String? = nil
  ) {
    self.limits = limits
    self.contentsTopic = contentsTopic
    self.coalescing = coalescing
    self.rejectsAppliedRecords = rejectsAppliedRecords
  }

  // MARK: - Coalescing

  /// Takes a record, and returns the flushes that it causes.
  public mutating func take(_ record: OracleRecord) -> OracleStep {
    let earlier = endItems(by: record.time)
    var flushBefore: OracleFlush?
    let isDue = record.time > due || record.time == due && keeps(.dueAtRecord)
    var early: OracleOutcome?
    if waiting > 0, isDue || coalescing.windowMilliseconds == 0 && keeps(.windowOfZero) {
      if !keeps(.dueBeforeTaken) { early = apply(record) }
      let time = keeps(.dueNotWhenFlushed) ? due : record.time
      flushBefore = flush()
      noteDue(time, flushBefore)
    }
    let outcome = early ?? apply(record)
    var flushAfter: OracleFlush?
    let count = waiting + charge
    let areMany = count > coalescing.maxRecords || count == coalescing.maxRecords && keeps(.maxRecords)
    let areLong =
      waitingBytes > coalescing.maxBytes || waitingBytes == coalescing.maxBytes && keeps(.maxBytes)
    if areMany || areLong {
      let time =
        record.time < due
        ? (keeps(.countFlushDueThen) ? record.time : due)
        : keeps(.countFlushNotLater) ? due : record.time
      flushAfter = flush()
      noteDue(time, flushAfter)
    }
    return OracleStep(earlier: earlier, flushBefore: flushBefore, outcome: outcome, flushAfter: flushAfter)
  }

  /// Deletes the items that end up to a time, each at its time, and returns the flushes that this causes.
  private mutating func endItems(by time: Int) -> [OracleFlush] {
    var flushes: [OracleFlush] = []
    while let end = feeds.values.compactMap({ $0.current?.nextEnd }).min(), end <= time, keeps(.itemsEnd) {
      if waiting > 0, end >= due || coalescing.windowMilliseconds == 0 {
        let due = due
        flushes.append(flush())
        noteDue(due, flushes.last)
      }
      if waiting == 0 { firstTimestamp = end }
      for key in feeds.keys {
        var applier = OracleApplier(state: feeds[key]!, limits: limits, others: OracleUsage())
        let count = applier.endItems(at: end)
        waiting += count
        feeds[key] = applier.state
      }
      if waiting + charge >= coalescing.maxRecords {
        let due = min(due, end)
        flushes.append(flush())
        noteDue(due, flushes.last)
      }
    }
    return flushes
  }

  /// The end of the input: the last flush; nil if nothing waits.
  public mutating func finish() -> OracleFlush? {
    guard waiting > 0, keeps(.endFlushes) else { return nil }
    lastDue = due
    return flush()
  }

  private mutating func noteDue(_ time: Int, _ flush: OracleFlush?) {
    if flush?.changes.isEmpty == false || keeps(.unpublishedFlushCounts) { lastDue = time }
  }

  /// When the waiting records are due: a window after the previous flush was due, within the limits on the first
  /// record's wait.
  private var due: Int {
    let latest = firstTimestamp + Int(coalescing.windowMilliseconds)
    let idle = firstTimestamp + (keeps(.idleWindow) ? Int(coalescing.idleWindowMilliseconds) : 0)
    let earliest = keeps(.idleWithinWindow) ? min(latest, idle) : idle
    guard let lastDue, keeps(.windowAfterDue) else { return earliest }
    let next = lastDue + Int(coalescing.windowMilliseconds)
    return next < earliest ? earliest : next > latest && keeps(.windowIsMost) ? latest : next
  }

  // MARK: - Step by step

  /// Applies a record, which then waits for the next flush, even if it was rejected.
  public mutating func apply(_ record: OracleRecord) -> OracleOutcome {
    let before = (firstTimestamp, waiting, waitingBytes)
    if waiting == 0 || record.time < firstTimestamp && !keeps(.firstSetsTime) { firstTimestamp = record.time }
    waiting += 1
    waitingBytes += keeps(.keysCount) ? record.byteCount : record.value?.count ?? 0
    do {
      if let contentsTopic, record.topic == contentsTopic {
        try applyContent(record)
        return .applied(noOps: [])
      }
      let outcome = try outcome(of: record)
      if case .applied(let noOps, _) = outcome, !noOps.isEmpty, !keeps(.noOpsWait) {
        (firstTimestamp, waiting, waitingBytes) = before
      }
      return outcome
    } catch {
      if !keeps(.everyRecordWaits) { (firstTimestamp, waiting, waitingBytes) = before }
      rejected.append(OracleRejected(record: record, rejection: error))
      return .rejected(error)
    }
  }

  /// Ends the window. Returns the change of each feed and the rejected records.
  public mutating func flush() -> OracleFlush {
    var changes: [OracleChange] = []
    for key in feeds.keys.sorted() {
      guard var state = feeds.removeValue(forKey: key) else { continue }
      if var change = state.flush(key) {
        change.contents = seenContents
        changes.append(change)
      }
      if state.published != nil { feeds[key] = state }
    }
    let flush = OracleFlush(changes: changes, rejected: rejected, recordCount: waiting)
    rejected = []
    waiting = 0
    waitingBytes = 0
    if keeps(.removedForgotten) { charge = 0 }
    return flush
  }

  // MARK: - State

  /// The existing feeds, in the order of a flush.
  public var feedKeys: [OracleFeedKey] {
    feeds.filter { $0.value.current != nil }.keys.sorted()
  }

  /// The current state of a feed; nil if it does not exist.
  public func current(_ key: OracleFeedKey) -> OracleFeed? { feeds[key]?.current }

  /// The last published state of a feed; nil if it was never published, or was published as deleted.
  public func published(_ key: OracleFeedKey) -> OraclePublished? { feeds[key]?.published }

  /// Shows the contents in a feed's items, and puts these in order.
  mutating func showContents(in key: OracleFeedKey, at time: Int) {
    guard var state = feeds[key], var feed = state.current, keeps(.contentsShown) else { return }
    let changed = feed.show(contents)
    if changed.isEmpty { return }
    state.time = keeps(.timeOfContents) ? max(state.time ?? time, time) : state.time ?? time
    for place in feed.sections.indices where keeps(.contentsMoveItems) {
      let ordered = feed.sections[place].orderedItems
      if ordered == feed.sections[place].items { continue }
      feed.sections[place].items = ordered
      state.placements.items.formUnion(changed)
    }
    state.current = feed
    feeds[key] = state
  }

  /// Restores a published feed.
  public mutating func restore(_ key: OracleFeedKey, as published: OraclePublished) {
    feeds[key] = OracleFeedState(published: published, current: published.feed)
  }

  /// Forgets records that were taken without a changeset, and the time of the last flush, like a restart.
  public mutating func forgetUnpublished() {
    lastDue = nil
    for key in feeds.keys { feeds[key]?.remembered = [:] }
  }

  // MARK: - One record

  private mutating func outcome(of record: OracleRecord) throws(OracleRejection) -> OracleOutcome {
    guard let id = record.key, !id.isEmpty else {
      if !keeps(.keyFirst) { _ = try events(of: record, key: [], before: nil) }
      if !keeps(.keyRequired) { return .alreadyApplied }
      throw OracleRejection(.missingKey)
    }
    let key = OracleFeedKey(partition: record.partition, id: id)
    let state = feeds[key] ?? OracleFeedState()
    let newest =
      (keeps(.unpublishedIsApplied) ? state.newest : state.published?.through ?? [:])[record.topic] ?? -1
    let isOld = record.offset < newest || record.offset == newest && keeps(.newestIsApplied)
    let isApplied = isOld && (state.current != nil || !keeps(.appliedOnlyWhileExisting))
    if isApplied, !keeps(.timeWithoutApplied) { feeds[key]?.take(record) }
    if isApplied, !rejectsAppliedRecords, keeps(.appliedUnread) { return .alreadyApplied }
    let events: [OracleEvent]?
    do {
      events = try self.events(of: record, key: id, before: state.current)
    } catch {
      if !keeps(.throughWithoutRejected) { feeds[key]?.take(record) }
      if !keeps(.timeWithoutRejected), var state = feeds[key] {
        state.time = max(state.time ?? .min, record.time)
        feeds[key] = state
      }
      throw error
    }
    if isApplied { return .alreadyApplied }
    var applier = OracleApplier(
      state: state,
      limits: limits,
      others: others(than: key),
      contents: contents
    )
    do {
      if let events {
        try applier.apply(events, of: record)
      } else if keeps(.nullDeletes) {
        applier.deleteFeed()
      }
    } catch {
      charge(for: applier.removedElements)
      if !keeps(.allOrNothing) { feeds[key] = applier.state }
      if !keeps(.throughWithoutRejected) { feeds[key]?.take(record) }
      throw error
    }
    if !keeps(.acceptedUncounted) { charge(for: applier.removedElements) }
    var next = applier.state
    let isNoOp = !applier.noOps.isEmpty
    if isNoOp, !keeps(.timeWithNoOps) {
      let time = next.time
      next.take(record)
      next.time = time
    } else if !isNoOp || keeps(.throughWithNoOps) {
      next.take(record)
    }
    feeds[key] = next
    return .applied(noOps: applier.noOps, cut: applier.cut)
  }

  private mutating func charge(for removed: Int) {
    if !keeps(.removedCount) { return }
    if !keeps(.hundredsOfEachRecord) {
      uncharged += removed
      charge += uncharged / 100
      uncharged %= 100
    } else if !keeps(.eachHundredCounts) {
      charge += removed >= 100 ? 1 : 0
    } else {
      charge += (keeps(.fullHundreds) ? removed : removed + 99) / 100
    }
  }

  /// Usage in addition to a feed: the other feeds in its partition, and the bytes of all state.
  private func others(than key: OracleFeedKey) -> OracleUsage {
    var usage = OracleUsage()
    for (other, state) in feeds where other != key {
      guard let feed = state.current else { continue }
      let isSame = other.partition == key.partition
      let isCounted = state.published != nil || keeps(.unpublishedFeedsCount)
      if isSame && isCounted || !keeps(.feedsByPartition) { usage.feeds += 1 }
      if isSame || keeps(.stateOfAllPartitions) { usage.bytes += feed.stateBytes }
    }
    return usage
  }

  /// The record's events; nil for a null value. Checks are in the order of the protocol, section 2.10.
  private func events(
    of record: OracleRecord,
    key: [UInt8],
    before: OracleFeed?
  ) throws(OracleRejection) -> [OracleEvent]? {
    let size = keeps(.recordCountsKey) ? record.byteCount : record.value?.count ?? 0
    let isTooLong =
      !isWithin(size, limits.maxRecordBytes, "limits.maxRecordBytes") && keeps(.recordLimited)
      || !isWithin(key.count, limits.maxIdBytes, "limits.maxIdBytes of a key") && keeps(.keyLimited)
    if isTooLong, !keeps(.utf8BeforeSize) { throw OracleRejection(.limitExceeded) }
    guard OracleUTF8.isValid(key) || !keeps(.keyIsUTF8),
      OracleUTF8.isValid(record.value ?? []) || !keeps(.valueIsUTF8)
    else { throw OracleRejection(.invalidUTF8) }
    if isTooLong, keeps(.sizeBeforeJSON) { throw OracleRejection(.limitExceeded) }
    guard var value = record.value else { return nil }
    if value.starts(with: [0xEF, 0xBB, 0xBF]), !keeps(.noByteOrderMark) { value.removeFirst(3) }
    let json: OracleJSON
    do {
      json = try OracleJSON.parse(
        value,
        maxDepth: !keeps(.depthLimited)
          ? .max : limits.maxDepth - (keeps("2.9 exactly as many are allowed: limits.maxDepth") ? 0 : 1)
      )
    } catch {
      switch error {
      case .invalidUTF8:
        if !keeps(.valueIsUTF8) { return [] }
        throw OracleRejection(.invalidUTF8)
      case .invalidJSON:
        if value.firstRange(of: Array("\\ud".utf8)) != nil, !keeps(.surrogatesPaired) { return [] }
        let depth = value.prefix { $0 == UInt8(ascii: "[") }.count
        if depth > limits.maxDepth, !keeps(.jsonBeforeDepth) { throw OracleRejection(.limitExceeded) }
        if !keeps(.valueIsJSON) { return [] }
        throw OracleRejection(.invalidJSON)
      case .tooDeep:
        if !keeps(.depthBeforeForm), let deep = try? OracleJSON.parse(value, maxDepth: .max) {
          var reader = OracleEventReader(
            limits: limits,
            before: before,
            takesReferences: contentsTopic != nil
          )
          _ = try reader.read(deep)
        }
        throw OracleRejection(.limitExceeded)
      }
    }
    if isTooLong { throw OracleRejection(.limitExceeded) }
    var reader = OracleEventReader(limits: limits, before: before, takesReferences: contentsTopic != nil)
    do {
      return try reader.read(json)
    } catch {
      if !keeps(.formBeforeApplication) {
        let state = OracleFeedState(current: before)
        var applier = OracleApplier(state: state, limits: limits, others: OracleUsage())
        try applier.apply(reader.events, of: record)
      }
      throw error
    }
  }
}

/// An input record.
public struct OracleRecord: Sendable, Equatable {
  public var topic: String
  public var partition: Int
  public var offset: Int
  /// Milliseconds since 1970.
  public var timestamp: Int
  public var key: [UInt8]?
  public var value: [UInt8]?

  public init(
    topic: String = "feeds.items",
    partition: Int = 0,
    offset: Int,
    timestamp: Int = 0,
    key: [UInt8]?,
    value: [UInt8]?
  ) {
    self.topic = topic
    self.partition = partition
    self.offset = offset
    self.timestamp = timestamp
    self.key = key
    self.value = value
  }

  /// The timestamp, or the nearest time in the years 0 to 9999.
  public var time: Int { min(max(timestamp, -62_167_219_200_000), 253_402_300_799_999) }

  /// The size of key and value, in bytes.
  public var byteCount: Int { (key?.count ?? 0) + (value?.count ?? 0) }

  /// The record as a line of a replay file (protocol, section 7), without the line feed; nil when its key or
  /// value is not UTF-8.
  public var replayLine: [UInt8]? {
    guard OracleUTF8.isValid(key ?? []), OracleUTF8.isValid(value ?? []) else { return nil }
    var line = OracleText()
    line.add("{\"topic\":")
    line.addString(topic)
    line.addField("partition", number: partition)
    line.addField("offset", number: offset)
    line.addField("ts", number: timestamp)
    if let key { line.addField("key", string: key) }
    if let value { line.addField("payload", string: value) } else { line.add(",\"payload\":null") }
    line.add("}")
    return line.bytes
  }
}

/// The result of one record.
public enum OracleOutcome: Sendable, Equatable {
  /// Applied; with the events without effect, in order, and the number of items beyond their bound.
  case applied(noOps: [OracleNoOp], cut: Int = 0)
  /// It is not newer than the newest record that the feed has taken.
  case alreadyApplied
  case rejected(OracleRejection)
}

/// The result of taking one record.
public struct OracleStep: Sendable, Equatable {
  /// The flushes that items caused which ended before the record.
  public let earlier: [OracleFlush]
  /// The flush that its timestamp caused, before it was taken.
  public let flushBefore: OracleFlush?
  public let outcome: OracleOutcome
  /// The flush that it caused by reaching a limit.
  public let flushAfter: OracleFlush?
}

/// A rejected record, and the reason.
public struct OracleRejected: Sendable, Equatable {
  public let record: OracleRecord
  public let rejection: OracleRejection
}

/// Why an event had no effect.
public enum OracleNoOp: String, Sendable, CaseIterable {
  case unknownItem = "unknown-item"
  case unknownSection = "unknown-section"
  case unknownFeed = "unknown-feed"
}

/// A feed's identity: the same id in two partitions is two feeds.
public struct OracleFeedKey: Sendable, Hashable, Comparable {
  public let partition: Int
  public let id: [UInt8]

  public init(partition: Int, id: [UInt8]) {
    self.partition = partition
    self.id = id
  }

  /// The order of a flush: by partition, then by the id's bytes.
  public static func < (left: Self, right: Self) -> Bool {
    if left.partition != right.partition, keeps(.flushByPartition) { return left.partition < right.partition }
    return keeps(.flushByID)
      ? left.id.lexicographicallyPrecedes(right.id) : right.id.lexicographicallyPrecedes(left.id)
  }
}

/// Usage of limits that concern more than one feed.
struct OracleUsage: Sendable, Equatable {
  /// The number of feeds in a partition.
  var feeds = 0
  /// The bytes of state in the process.
  var bytes = 0
}

extension OracleFeed {
  /// The feed's size, as counted for `limits.maxStateBytes`.
  public var stateBytes: Int {
    func quoted(_ text: [UInt8]) -> Int {
      if !keeps(.escapedBytes) { return text.count + 2 }
      var spelled = OracleText()
      spelled.addString(text)
      return spelled.bytes.count
    }
    var bytes = keeps(.feedBytes) ? 1024 : 0
    let (sectionBytes, itemBytes) = (keeps(.sectionBytes) ? 256 : 0, keeps(.itemBytes) ? 128 : 0)
    for section in sections {
      let id = keeps(.escapedSectionBytes) ? quoted(section.id) : section.id.count + 2
      bytes += sectionBytes + "{\"id\":,\"data\":}".utf8.count + id + section.data.count
      if let order = section.order, keeps(.orderBytes) {
        bytes += ",\"order\":".utf8.count + order.canonical.count
      }
      if let keep = section.keep, keeps(.orderBytes) { bytes += ",\"keep\":\(keep)".utf8.count }
      if let ttl = section.ttl, keeps(.endBytes) { bytes += ",\"ttl\":\(ttl)".utf8.count }
      for item in section.items {
        bytes += itemBytes + "{\"id\":,\"kind\":,\"data\":}".utf8.count
        bytes += quoted(item.id) + quoted(item.kind) + item.data.count
        if let end = item.expires, keeps(.endBytes) {
          bytes += ",\"expires\":\"\(OracleTime.text(milliseconds: end))\"".utf8.count
        }
        if !item.refs.isEmpty { bytes += ",\"refs\":".utf8.count + item.refs.count }
      }
    }
    return bytes
  }
}
