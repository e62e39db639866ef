import Feed

/// A changeset whose last part was not yet read.
struct PendingChangeset {
  private(set) var head: ChangesetHead
  let parts: Int
  /// The plan in the first part's header.
  let plan: ChangesetPlan?
  private(set) var received = 0
  private(set) var byteCount = 0
  /// The values of a difference's parts, which are applied together.
  private(set) var values: [OwnedSpan] = []
  /// The state that the reload fills; nil if the reload is only compared.
  private let state: FeedState?
  /// The comparison with the known state; nil if none is known.
  private(set) var comparison: ReloadComparison?
  /// The last section of the previous part.
  private var lastSection: [UInt8]?

  /// - Parameters:
  ///   - state: the state that the reload fills; nil if it is only compared.
  init(_ form: ChangesetForm, state: FeedState?, comparison: ReloadComparison?) {
    head = form.head
    // The record's bytes become invalid.
    head.feed = .empty
    parts = form.record.parts
    plan = form.plan
    self.state = state
    self.comparison = comparison
  }

  var isComplete: Bool { received == parts }

  /// Whether a record is the next part.
  func continues(with form: ChangesetForm) -> Bool {
    form.record.part == received && form.record.parts == parts && form.head.isSame(as: head)
  }

  /// Adds the next part.
  mutating func take(_ form: ChangesetForm, bytes: Int) throws(Violation) {
    if form.record.mode == .reload {
      try walk(form.record)
      try state?.append(reload: form.record)
    } else if received + 1 < parts {
      values.append(OwnedSpan(form.record.text.bytes))
    }
    if parts > 1, !form.hasEntries, form.record.sections.first == 0 {
      throw Violation("\(form.name) holds nothing")
    }
    received += 1
    byteCount += bytes
  }

  /// Checks which sections continue from the previous part, and compares.
  private mutating func walk(_ record: DecodedChangeset) throws(Violation) {
    var isFirst = true
    var comparison = comparison
    // Prevents a copy of the comparison's cursors for each item.
    self.comparison = nil
    var last: ByteSpan?
    let lastSection = lastSection
    try ReloadWalk.forEach(record) { section throws(Violation) in
      if section.fields.isEmpty {
        let continues = isFirst && lastSection?.elementsEqual(section.id.buffer) == true
        try require(continues && section.items.first != 0) {
          "section \(section.id.quotedForMessage()) has no data"
            + (continues ? " and no items" : ", and does not continue from the part before")
        }
      }
      isFirst = false
      last = section.id
      comparison?.take(section: section)
    } item: { item throws(Violation) in
      comparison?.take(item: item)
    }
    self.comparison = comparison
    if let last { self.lastSection = Array(last.buffer) }
  }

  /// Ends a reload: returns the new state, nil if the reload was only compared, and the comparison.
  mutating func finishReload() -> (FeedState?, ReloadComparison?) {
    comparison?.end()
    return (state, comparison)
  }
}

/// The record that must come next in a partition, before any other feed's records.
enum Expectation {
  /// The next part of a changeset.
  case part(PendingChangeset)
  /// A keyframe, with the reason.
  case keyframe(String)
  case nulls(NullsDue, isDeletion: Bool)

  /// The expectation, in words.
  ///
  /// - Parameter feed: the feed's id as in keys.
  func words(feed: String) -> String {
    switch self {
    case .part(let pending):
      "part \(pending.received) of \(pending.parts) of revision \(pending.head.revision)"
    case .keyframe(let reason): "a keyframe (\(reason))"
    case .nulls(let due, let isDeletion):
      "a null under \((due.next + feed).debugDescription)"
        + (isDeletion ? ", as the feed was deleted" : ", as the reload has fewer parts than the one before")
    }
  }
}
