import Feed

/// Verifies the records of one partition of the changesets topic, in the order of their offsets.
final class PartitionVerifier {
  private unowned let verifier: ChangesetVerifier
  private let headers: HeaderCheck
  /// The feeds that exist or have a fault: memory follows the state.
  private var feeds: [BytesKey: VerifiedFeed] = [:]
  /// The record that must follow, its feed, and the location that requires it.
  private var expectation: (what: Expectation, feed: VerifiedFeed, location: VerificationLocation)?
  /// The location of reported faults.
  private(set) var location = VerificationLocation(source: 0, position: 0)
  private var hasFaultWithoutFeed = false

  init(_ verifier: ChangesetVerifier) {
    self.verifier = verifier
    headers = HeaderCheck(verifier.options)
  }

  var options: VerificationOptions { verifier.options }
  var decoder: ChangesetDecoder { verifier.decoder }

  /// Checks the next record; returns its faults, at most one for each of two feeds.
  func check(_ record: VerifiedRecord) -> [VerificationFault] {
    location = record.location
    verifier.counts.records += 1
    verifier.counts.bytes += (record.key?.count ?? 0) + (record.value?.count ?? 0)
    var faults: [VerificationFault] = []
    guard let key = record.key.flatMap({ RecordKey($0) }) else {
      return reportWithoutFeed(
        "the key is \(record.key?.quotedForMessage() ?? "null"), which is neither \(RecordKey.form)"
      )
    }
    if let missed = expectation, !missed.feed.bytes.hasSameBytes(as: key.feed) {
      expectation = nil
      faults += miss(missed.what, missed.feed, found: "a record of another feed")
    }
    let feed = feeds[BytesKey(key.feed)] ?? VerifiedFeed(key.feed, in: self)
    feeds[BytesKey(feed.bytes)] = feed
    if case .faulty = feed.state {
      verifier.counts.recordsPassedOver += 1
      return faults
    }
    do throws(Violation) {
      let due = expectation?.what
      expectation = nil
      let next = try check(record, key, feed, due)
      expectation = next.map { ($0, feed, record.location) }
    } catch {
      faults += report(feed, error.message)
    }
    if expectation == nil, case .absent = feed.state { feeds[BytesKey(feed.bytes)] = nil }
    return faults
  }

  /// Ends the verification of the partition.
  func finish() -> [VerificationFault] {
    var faults: [VerificationFault] = []
    if let missed = expectation {
      expectation = nil
      location = missed.location
      faults += miss(missed.what, missed.feed, found: "nothing")
    }
    for feed in feeds.values.sorted(by: { $0.bytes.precedes($1.bytes) }) {
      guard case .gap(let fault) = feed.state else { continue }
      location = fault.location
      faults += report(feed, fault.message)
    }
    verifier.counts.feeds += feeds.values.count {
      if case .known = $0.state { true } else { false }
    }
    return faults
  }

  // MARK: One record

  private func check(
    _ record: VerifiedRecord,
    _ key: RecordKey,
    _ feed: VerifiedFeed,
    _ due: Expectation?
  ) throws(Violation) -> Expectation? {
    guard let value = record.value else {
      verifier.counts.nulls += 1
      try headers.checkNone(record.headers)
      if let time = feed.time { try checkTimestamp(record, time) }
      return try feed.takeNull(key, due)
    }
    try require(value.count <= options.output.maxMessageBytes) {
      "the value has \(value.count) bytes, output.maxMessageBytes is \(options.output.maxMessageBytes)"
    }
    var form = try decoder.decode(value, mayForget: options.mayBeCompacted)
    try require(form.record.feed.hasSameBytes(as: key.feed)) {
      "the value is of feed \(form.record.feed.quotedForMessage()), "
        + "the key of \(key.feed.quotedForMessage())"
    }
    try headers.check(record.headers, form)
    form.plan = headers.plan(record.headers)
    form.hasContents = HeaderCheck.hasContents(record.headers)
    try checkTimestamp(record, form.head.time)
    let next = try feed.take(form, key, due)
    // Last, because faults in the changeset itself are more specific.
    try headers.checkPlan(record.headers, form)
    if form.hasContents { try feed.checkContents(record.headers.last ?? nil, form) }
    if form.record.part + 1 == form.record.parts {
      if form.isKeyframe {
        verifier.counts.keyframes += 1
      } else {
        verifier.counts.changesets[form.record.mode, default: 0] += 1
      }
    }
    return next
  }

  private func checkTimestamp(_ record: VerifiedRecord, _ time: Int64) throws(Violation) {
    guard let timestamp = record.timestamp, timestamp != time else { return }
    throw Violation("the timestamp is \(timestamp), expected \(time), the changeset's time")
  }

  // MARK: Faults

  /// Handles a missing record: another one is in its place.
  private func miss(_ expectation: Expectation, _ feed: VerifiedFeed, found: String) -> [VerificationFault] {
    let message =
      found == "nothing"
      ? "after this, \(expectation.words(feed: feed.name)) is missing"
      : feed.unexpected(found: found, expectation).message
    if options.mayBeCompacted, case .part = expectation {
      // A compacted topic may lack some parts of a changeset that a later reload replaces.
      try? feed.noteGap(message)
      return []
    }
    return report(feed, message)
  }

  /// Reports a feed's first fault, and discards its state.
  private func report(_ feed: VerifiedFeed, _ message: String) -> [VerificationFault] {
    feed.state = .faulty
    verifier.counts.faultyFeeds += 1
    feeds[BytesKey(feed.bytes)] = feed
    return [VerificationFault(feed: feed.name, location: location, message: message)]
  }

  private func reportWithoutFeed(_ message: String) -> [VerificationFault] {
    verifier.counts.recordsPassedOver += 1
    if hasFaultWithoutFeed { return [] }
    hasFaultWithoutFeed = true
    return [VerificationFault(feed: nil, location: location, message: message)]
  }
}
