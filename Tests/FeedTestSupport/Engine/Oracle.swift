public import Feed

/// A plain implementation of the protocol, with arrays, copies and comparisons of whole feeds.
///
/// Use `take` and `finish`, which coalesce as a replay does, or `apply` and `flush`, where the caller decides when to
/// flush. It is a value: a copy is a snapshot to return to.
public struct Oracle: Sendable {
  private let limits: Limits
  private let coalescing: OracleCoalescing
  private let rejectsAppliedRecords: Bool
  private var feeds: [OracleFeedKey: OracleFeedState] = [:]
  private var rejected: [OracleRejected] = []
  private var waiting = 0
  private var waitingBytes = 0
  private var firstTimestamp = 0
  /// When the previous flush was due; nil before the first.
  private var lastDue: Int?

  /// - Parameter rejectsAppliedRecords: whether the form of key and value is checked even for records that count as
  ///   already applied, or such records are skipped unread.
  public init(
    limits: Limits = Limits(),
    coalescing: OracleCoalescing = OracleCoalescing(),
    rejectsAppliedRecords: Bool = false
  ) {
    self.limits = limits
    self.coalescing = coalescing
    self.rejectsAppliedRecords = rejectsAppliedRecords
  }

  // MARK: - Coalescing

  /// Takes a record, and returns the flushes that it causes.
  public mutating func take(_ record: OracleRecord) -> OracleStep {
    var flushBefore: OracleFlush?
    if waiting > 0, coalescing.windowMilliseconds == 0 || record.timestamp >= due {
      let time = due
      flushBefore = flush()
      lastDue = time
    }
    let outcome = apply(record)
    var flushAfter: OracleFlush?
    if waiting >= coalescing.maxRecords || waitingBytes >= coalescing.maxBytes {
      let time = min(due, record.timestamp)
      flushAfter = flush()
      lastDue = time
    }
    return OracleStep(flushBefore: flushBefore, outcome: outcome, flushAfter: flushAfter)
  }

  /// The end of the input: the last flush; nil if nothing waits.
  public mutating func finish() -> OracleFlush? {
    guard waiting > 0 else { return nil }
    lastDue = due
    return flush()
  }

  /// When the waiting records are due: a window after the previous flush was due, within the limits on the first
  /// record's wait.
  private var due: Int {
    let latest = firstTimestamp + coalescing.windowMilliseconds
    let earliest = min(latest, firstTimestamp + coalescing.idleWindowMilliseconds)
    guard let lastDue else { return earliest }
    let next = lastDue + coalescing.windowMilliseconds
    return next < earliest ? earliest : next > latest ? latest : next
  }

  // MARK: - Step by step

  /// Applies a record, which then waits for the next flush, even if it was rejected.
  public mutating func apply(_ record: OracleRecord) -> OracleOutcome {
    if waiting == 0 { firstTimestamp = record.timestamp }
    waiting += 1
    waitingBytes += record.byteCount
    do {
      return try outcome(of: record)
    } catch {
      rejected.append(OracleRejected(record: record, rejection: error))
      return .rejected(error)
    }
  }

  /// Ends the window. Returns the change of each feed and the rejected records.
  public mutating func flush() -> OracleFlush {
    var changes: [OracleChange] = []
    for key in feeds.keys.sorted() {
      guard var state = feeds.removeValue(forKey: key) else { continue }
      if let change = state.flush(key) { changes.append(change) }
      if state.published != nil { feeds[key] = state }
    }
    let flush = OracleFlush(changes: changes, rejected: rejected, recordCount: waiting)
    rejected = []
    waiting = 0
    waitingBytes = 0
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

  /// Restores a published feed.
  public mutating func restore(_ key: OracleFeedKey, as published: OraclePublished) {
    feeds[key] = OracleFeedState(published: published, current: published.feed)
  }

  /// Forgets records that were taken without a changeset, and when the last flush was due, as a restart does.
  public mutating func forgetUnpublished() {
    lastDue = nil
    for key in feeds.keys { feeds[key]?.remembered = [:] }
  }

  // MARK: - One record

  private mutating func outcome(of record: OracleRecord) throws(OracleRejection) -> OracleOutcome {
    guard let id = record.key, !id.isEmpty else { throw OracleRejection(.missingKey) }
    let key = OracleFeedKey(partition: record.partition, id: id)
    let state = feeds[key] ?? OracleFeedState()
    let isApplied = state.current != nil && record.offset <= state.newest[record.topic] ?? -1
    if isApplied, !rejectsAppliedRecords { return .alreadyApplied }
    let events = try events(of: record, key: id, before: state.current)
    if isApplied { return .alreadyApplied }
    var applier = OracleApplier(state: state, limits: limits, others: others(than: key))
    if let events { try applier.apply(events, of: record) } else { applier.deleteFeed() }
    var next = applier.state
    next.take(record)
    feeds[key] = next
    return .applied(noOps: applier.noOps)
  }

  /// Usage besides a feed: the other feeds in its partition, and the bytes of state of all.
  private func others(than key: OracleFeedKey) -> OracleUsage {
    var usage = OracleUsage()
    for (other, state) in feeds where other != key {
      guard let feed = state.current else { continue }
      if other.partition == key.partition { usage.feeds += 1 }
      usage.bytes += feed.stateBytes
    }
    return usage
  }

  /// The record's events; nil for a null value. Checks are in the order of the protocol, section 2.10.
  private func events(
    of record: OracleRecord,
    key: [UInt8],
    before: OracleFeed?
  ) throws(OracleRejection) -> [OracleEvent]? {
    guard OracleUTF8.isValid(key), OracleUTF8.isValid(record.value ?? []) else {
      throw OracleRejection(.invalidUTF8)
    }
    guard record.byteCount <= limits.maxRecordBytes else { throw OracleRejection(.limitExceeded) }
    guard key.count <= limits.maxIdBytes else { throw OracleRejection(.limitExceeded) }
    guard let value = record.value else { return nil }
    let json: OracleJSON
    do {
      json = try OracleJSON.parse(value, maxDepth: limits.maxDepth)
    } catch {
      switch error {
      case .invalidUTF8: throw OracleRejection(.invalidUTF8)
      case .invalidJSON: throw OracleRejection(.invalidJSON)
      case .tooDeep: throw OracleRejection(.limitExceeded)
      }
    }
    var reader = OracleEventReader(limits: limits, before: before)
    return try reader.read(json)
  }
}
