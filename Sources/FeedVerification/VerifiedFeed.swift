import Feed

/// One feed of a partition that is verified: its replica, and what must hold of its next record.
final class VerifiedFeed {
  enum State {
    case absent
    case known(Known)
    /// Records are gone, which a later reload may make up for.
    case gap(VerificationFault)
    /// A fault was reported; nothing more of it is looked at.
    case faulty
  }

  /// What is known of a feed that is there.
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
  /// Milliseconds of the last changeset's time, which nulls have too; nil where none was read.
  var time: Int64?

  /// What it is checked against, and where the record under way stands.
  unowned let partition: PartitionVerifier

  init(_ id: ByteSpan, in partition: PartitionVerifier) {
    self.partition = partition
    ownedID = OwnedSpan(id)
    name = id.text
  }

  /// The bytes of the id; they live as long as this.
  var bytes: ByteSpan { ownedID.span }

  // MARK: Nulls

  /// Takes a null; returns what has to come next.
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
      // A reader that slept through the deletion sees only this: reloads leave only later parts over.
      if key.kind != .reload || key.number == 0 { state = .absent }
    case .known(let known):
      // Left over by a reload that is gone, from one that is gone as well.
      let isSurplus = key.kind == .reload && key.number >= known.keys.reloadParts
      try require(partition.options.mayBeCompacted && !known.isWhole && isSurplus) {
        "a null, but revision \(known.replica.revision) left no key over and deleted nothing"
      }
    }
    return nil
  }

  /// Says that something else stands where an expectation was to be met.
  func unexpected(found: String, _ expectation: Expectation?) -> Violation {
    Violation("\(found) stands here, expected \(expectation?.words(feed: name) ?? "nothing")")
  }

  /// Notes that records are missing from here on.
  ///
  /// - Throws: the violation, where none may be.
  func noteGap(_ message: String) throws(Violation) {
    try require(partition.options.mayBeCompacted) { message }
    if case .gap = state { return }
    state = .gap(
      VerificationFault(
        feed: name,
        place: partition.place,
        message: message + ", and no later reload makes up for it"
      )
    )
    time = nil
  }
}
