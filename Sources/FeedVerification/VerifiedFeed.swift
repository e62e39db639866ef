import Feed

/// A verified feed of a partition: its replica, and the rules for its next record.
final class VerifiedFeed {
  enum State {
    case absent
    case known(Known)
    /// Records are missing; a later reload may close the gap.
    case gap(VerificationFault)
    /// A fault was reported; later records are skipped.
    case faulty
  }

  /// The known state of an existing feed.
  struct Known {
    let replica: Replica
    var keys = KeyUse()
    /// The text of the last changeset's time.
    var time: [UInt8]
    /// Whether the epoch was read from its beginning.
    let isWhole: Bool
  }

  private let ownedID: OwnedSpan
  let name: String
  var state = State.absent
  /// Milliseconds of the last changeset's time, which nulls have too; nil if none was read.
  var time: Int64?

  /// The header `feedstore.contents` of the last changeset that has it.
  var contents: OwnedSpan?

  /// The verifier with the options and the location of the current record.
  unowned let partition: PartitionVerifier

  init(_ id: ByteSpan, in partition: PartitionVerifier) {
    self.partition = partition
    ownedID = OwnedSpan(id)
    name = id.text
  }

  /// The bytes of the id; valid as long as the feed.
  var bytes: ByteSpan { ownedID.span }

  // MARK: Nulls

  /// Checks a tombstone, and returns the record that must follow it.
  func takeNull(_ key: RecordKey, _ expectation: Expectation?) throws(Violation) -> Expectation? {
    switch expectation {
    case .nulls(var due, let isDeletion):
      guard due.take(key) else { throw unexpected(found: "another null", expectation) }
      return due.isEmpty ? nil : .nulls(due, isDeletion: isDeletion)
    case .part: try noteGap(unexpected(found: "a null", expectation).message)
    case .keyframe: throw unexpected(found: "a null", expectation)
    case nil: break
    }
    switch state {
    case .faulty: break
    case .absent, .gap:
      try require(partition.options.mayBeCompacted) { "a null, but the feed has no keys that hold anything" }
      // After a deletion in a compacted topic, only the nulls may remain; a reload's surplus is never part 0.
      if key.kind != .reload || key.number == 0 { state = .absent }
    case .known(let known):
      // An earlier reload wrote this key, and a later one no longer used it; both are compacted away.
      let isSurplus = key.kind == .reload && key.number >= known.keys.reloadParts
      try require(partition.options.mayBeCompacted && !known.isWhole && isSurplus) {
        "a null, but revision \(known.replica.revision) left no key over and deleted nothing"
      }
    }
    return nil
  }

  /// Returns the violation: another record is in the place of the expected one.
  func unexpected(found: String, _ expectation: Expectation?) -> Violation {
    Violation("found \(found), expected \(expectation?.words(feed: name) ?? "nothing")")
  }

  /// Records that records are missing from here on.
  ///
  /// - Throws: the violation, if none may be missing.
  func noteGap(_ message: String) throws(Violation) {
    try require(partition.options.mayBeCompacted) { message }
    if case .gap = state { return }
    state = .gap(
      VerificationFault(
        feed: name,
        location: partition.location,
        message: message + ", and no later reload makes up for it"
      )
    )
    time = nil
  }
}
