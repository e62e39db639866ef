/// When the items of a partition end: a heap of 16 bytes for each item that ends, and for some that have changed since.
///
/// An entry counts only if its item still ends at that time, so nothing is removed when an item changes.
final class ItemEnds {
  struct Entry: Hashable {
    let time: Int64
    /// The feed's number in its directory.
    let feed: UInt32
    let item: ElementHandle
  }

  @exclusivity(unchecked) private(set) var heap: [Entry] = []
  /// Items that end, and sections with a time to live.
  @exclusivity(unchecked) var count = 0

  func add(_ entry: Entry) {
    heap.append(entry)
    var at = heap.count - 1
    while at > 0, heap[at].time < heap[(at - 1) / 2].time {
      heap.swapAt(at, (at - 1) / 2)
      at = (at - 1) / 2
    }
  }

  func removeFirst() {
    let last = heap.removeLast()
    if heap.isEmpty {
      heap = []
      return
    }
    var at = 0
    while true {
      var child = 2 * at + 1
      if child + 1 < heap.count, heap[child + 1].time < heap[child].time { child += 1 }
      guard child < heap.count, heap[child].time < last.time else { break }
      heap[at] = heap[child]
      at = child
    }
    heap[at] = last
  }

  /// Removes entries that do not count, if they are more than those that do.
  func trim(_ counts: (Entry) -> Bool) {
    if heap.count > 2 * count + 1024 { heap = Set(heap.filter(counts)).sorted { $0.time < $1.time } }
  }
}

/// Items that end: protocol, section 2.15.
extension FeedState {
  /// The end of an item that is written now.
  static func end(after ttl: NumberField, _ now: Int64) -> NumberField {
    ttl.number.map { NumberField(TimestampFormat.nearest(now + $0)) } ?? .absent
  }

  /// Sets the end of an item that an event wrote in a section with a time to live, and notes an item that has ended.
  @inline(__always)
  func renew(_ item: ElementHandle, _ event: UnsafePointer<Event>, _ decoder: RecordDecoder) {
    if totals.endCount > 0 { renew(item, event.pointee.fields.lifetime, in: items[item].scope, decoder) }
  }

  /// - Parameter given: the end that the event gives.
  @inline(never)
  func renew(_ item: ElementHandle, _ given: NumberField, in scope: Scope, _ decoder: RecordDecoder) {
    let end = given.or(FeedState.end(after: list(scope).pointee.settings?.ttl ?? .none, decoder.now))
    if end != .absent { setContent(item: item, ElementFields(lifetime: end)) }
    if items[item].content.end.isReached(by: decoder.now) { decoder.pastItems.append(item) }
  }

  /// Deletes the noted items, unless a later event of the record has changed their ends, and counts them.
  @inline(__always)
  func deleteEnded(_ decoder: RecordDecoder) {
    if !decoder.pastItems.isEmpty { deleteNoted(decoder) }
  }

  @inline(never)
  private func deleteNoted(_ decoder: RecordDecoder) {
    for item in decoder.pastItems
    where items[item].isPresent && items[item].content.end.isReached(by: decoder.now) {
      delete(item)
      decoder.endedItems += 1
    }
    decoder.pastItems.removeAll()
  }

  func delete(_ item: ElementHandle) {
    detach(item, items[item].scope)
    forgetForced(item, items)
  }

  /// Whether an item that may have changed ends at this time.
  func ends(_ item: ElementHandle, at time: Int64) -> Bool {
    item.index < items.used && items[item].isInUse && items[item].isPresent
      && items[item].content.end == NumberField(time)
  }

  /// Counts the changed end and references of an item, if it is in the feed, and schedules its end.
  @inline(never)
  func noteRest(of item: ElementHandle, instead old: Content) {
    guard items[item].isPresent else { return }
    let new = items[item].content
    let change = (new.hasEnd ? 1 : 0) - (old.hasEnd ? 1 : 0)
    countEnds(change)
    totals.itemBytes += change * Content.endFieldBytes + new.referenceBytes - old.referenceBytes
    if new.end != old.end { schedule(new.end, of: item) }
  }

  /// Counts items that end, and sections with a time to live.
  func countEnds(_ change: Int) {
    totals.endCount += Int32(change)
    ends?.count += change
  }

  func schedule(_ end: NumberField, of item: ElementHandle) {
    guard let ends, let end = end.number else { return }
    ends.add(ItemEnds.Entry(time: end, feed: number, item: item))
  }

  /// Adds the ends of all items to a queue.
  func scheduleEnds(_ queue: ItemEnds, _ number: UInt32) {
    (ends, self.number) = (queue, number)
    queue.count += Int(totals.endCount)
    if totals.endCount == 0 { return }
    for section in currentHandles(.sections) {
      for item in currentHandles(.items(of: section)) { schedule(items[item].content.end, of: item) }
    }
  }

  /// Begins to track the ends of a replica's items.
  package func trackEnds() {
    if ends == nil { scheduleEnds(ItemEnds(), 0) }
  }

  /// The earliest end of the items, if it is tracked.
  package var earliestEnd: Int64? {
    while let entry = ends?.heap.first, !self.ends(entry.item, at: entry.time) {
      ends?.removeFirst()
    }
    return ends?.heap.first?.time
  }

  /// An item's end; nil if it does not end, or does not exist.
  package func end(of id: ByteSpan) -> Int64? {
    items.findPresent(id).flatMap { items[$0].content.end.number }
  }
}
