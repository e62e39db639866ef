import Feed

/// A changeset of which parts are still to come.
struct PendingChangeset {
  private(set) var head: ChangesetHead
  let parts: Int
  /// What the first part's header says of why the changeset is what it is.
  let plan: ChangesetPlan?
  private(set) var received = 0
  private(set) var byteCount = 0
  /// The values of a difference's parts, which are applied together.
  private(set) var values: [OwnedSpan] = []
  /// A reload as far as it has come; nil where it is only compared.
  private let state: FeedState?
  /// What the reload is compared with; nil where nothing is known.
  private(set) var comparison: ReloadComparison?
  /// The section that the last part ended with.
  private var lastSection: [UInt8]?

  /// - Parameters:
  ///   - state: what the reload is to fill; nil where it is only compared.
  init(_ form: ChangesetForm, state: FeedState?, comparison: ReloadComparison?) {
    head = form.head
    // The record's bytes do not stay.
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

  /// Takes the next part.
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

  /// Checks which sections go on from the part before, and compares.
  private mutating func walk(_ record: DecodedChangeset) throws(Violation) {
    var isFirst = true
    var comparison = comparison
    // The comparison's cursors are not to be copied for every item.
    self.comparison = nil
    var last: ByteSpan?
    let lastSection = lastSection
    try ReloadWalk.forEach(record) { section throws(Violation) in
      if section.fields.isEmpty {
        let continues = isFirst && lastSection?.elementsEqual(section.id.buffer) == true
        try require(continues && section.items.first != 0) {
          "section \(section.id.quotedForMessage()) has no data"
            + (continues ? " and no items" : ", and does not go on from the part before")
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

  /// What the reload came to: the new state, or nil where it was only compared, and the comparison.
  mutating func finishReload() -> (FeedState?, ReloadComparison?) {
    comparison?.end()
    return (state, comparison)
  }
}

/// What has to come next in a partition, before any other feed's records.
enum Expectation {
  /// The next part of a changeset.
  case part(PendingChangeset)
  /// A keyframe, for this reason.
  case keyframe(String)
  case nulls(NullsDue, isDeletion: Bool)

  /// What is expected, in words.
  ///
  /// - Parameter feed: the feed's id as keys have it.
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
