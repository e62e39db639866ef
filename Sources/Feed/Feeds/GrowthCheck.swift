/// Checks one record against the limits on state: a record that raises a number above its limit is rejected.
///
/// Created before the record is applied; called before each event, and once after all of them.
struct GrowthCheck {
  /// Outlives the check; a copy of its limits would be made for every record.
  private unowned(unsafe) let decoder: RecordDecoder
  private let usage: StateUsage
  /// The feed's counts before the record.
  let before: FeedDirectory.Count
  /// Whether items of the record or of the feed have references. Then its bytes are not estimated, and it is applied so
  /// that it can be undone.
  private let hasReferences: Bool

  /// - Parameter decoder: holds the record's events.
  @inline(__always)
  init(_ feed: PublishedFeed, _ decoder: RecordDecoder, _ usage: StateUsage) {
    self.decoder = decoder
    self.usage = usage
    before = feed.count
    hasReferences = decoder.hasReferences || feed.state.referenceCount > 0
  }

  /// Whether a record of one event could be rejected after it was applied, by an estimate that costs nothing.
  @inline(__always)
  func mayFail() -> Bool {
    before.items >= limits.maxItems || before.sections >= limits.maxSections || mayPassStateBytes()
  }

  private var limits: Limits { decoder.limits }

  /// The most elements that the record can bring into the feed.
  @inline(__always)
  private var mostNewElements: Int {
    // These count elements in memory, so they do not overflow.
    decoder.items.count &+ decoder.sections.count &+ 2 &* decoder.events.count
  }

  /// The most bytes of state that the record can add.
  @inline(__always)
  private var mostNewBytes: Int {
    StateSize.feed &+ decoder.valueBytes &+ mostNewElements &* StateSize.mostPerElement
  }

  @inline(__always)
  private func mayPassStateBytes() -> Bool {
    hasReferences || usage.bytes &+ mostNewBytes > limits.maxStateBytes
  }

  /// Whether the record may exceed the limit on items or bytes even though it removes these elements (an
  /// estimate).
  private func mayPassLimits(despite removal: FeedState.Removal) -> Bool {
    if hasReferences { return true }
    if before.items - removal.items + mostNewElements > max(before.items, limits.maxItems) { return true }
    let growth =
      mostNewBytes - removal.items * StateSize.item - removal.sections * StateSize.section
    return growth > 0 && usage.bytes + growth > limits.maxStateBytes
  }

  // MARK: Before an event

  /// Rejects an event that would create a feed beyond the limit, and one whose lists would make the feed too
  /// large, before it changes anything.
  @inline(__always)
  func check(_ event: UnsafePointer<Event>, on feed: PublishedFeed) throws(Rejection) {
    switch event.pointee.operation {
    case .sectionUpsert, .itemUpsert: if !feed.exists, before.feeds == 0 { try checkFeeds() }
    case .sectionReplace, .feedReplace:
      if !feed.exists, before.feeds == 0 { try checkFeeds() }
      try checkList(event, feed.state)
    default: break
    }
  }

  @inline(never)
  private func checkFeeds() throws(Rejection) {
    guard usage.feeds >= limits.maxFeeds else { return }
    throw Rejection(
      .limitExceeded,
      "the record creates a feed; the partition would have \(usage.feeds + 1) feeds, more than "
        + "limits.maxFeeds (\(limits.maxFeeds)): delete feeds, use more partitions, or raise the limit"
    )
  }

  @inline(never)
  private func checkList(_ event: UnsafePointer<Event>, _ state: FeedState) throws(Rejection) {
    // The decoder counted the list of a `feed.replace`.
    let mayPassItems =
      event.pointee.operation == .sectionReplace
      && state.totals.itemCount + event.pointee.items.count > limits.maxItems
    guard mayPassItems || mayPassStateBytes() else { return }
    // Avoids a visit to each element of a long list for a short record.
    guard mayPassLimits(despite: state.removal(by: event)) else { return }
    let after = state.measure(after: event.pointee, decoder)
    if after.items > limits.maxItems, after.items > before.items {
      throw Rejection(
        .limitExceeded,
        field: "items",
        "leaves the feed with \(after.items) items, more than limits.maxItems (\(limits.maxItems))"
      )
    }
    // The size of the removed items is not known yet.
    if !after.isCut { try checkBytes(StateSize.feed + after.bytes) }
  }

  private func checkBytes(_ after: Int) throws(Rejection) {
    let growth = after - before.bytes
    guard growth > 0, usage.bytes + growth > limits.maxStateBytes else { return }
    throw Rejection(
      .limitExceeded,
      "the record leaves the process with \(usage.bytes + growth) bytes of state, more than "
        + "limits.maxStateBytes (\(limits.maxStateBytes)): delete feeds or items, run more processes, or raise the limit"
    )
  }

  // MARK: After the record

  /// Rejects a record that made the feed too large.
  func check(_ feed: PublishedFeed) throws(Rejection) {
    try check(feed.itemCount, before: before.items, limits.maxItems, "items", "limits.maxItems")
    try check(
      feed.sectionCount,
      before: before.sections,
      limits.maxSections,
      "sections",
      "limits.maxSections"
    )
    try checkBytes(feed.stateBytes)
  }

  private func check(
    _ count: Int,
    before: Int,
    _ limit: Int,
    _ things: StaticString,
    _ name: StaticString
  ) throws(Rejection) {
    guard count > limit, count > before else { return }
    throw Rejection(
      .limitExceeded,
      "the record leaves the feed with \(count) \(things), more than \(name) (\(limit))"
    )
  }
}
