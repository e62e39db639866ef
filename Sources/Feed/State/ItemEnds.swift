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
  func trim(counting count: Int, _ counts: (Entry) -> Bool) {
    if heap.count > 2 * count + 1024 { heap = Set(heap.filter(counts)).sorted { $0.time < $1.time } }
  }
}

extension ListedItem {
  /// The fields, with the end in a section with a time to live.
  @inline(__always)
  func fields(ttl: NumberField, now: Int64) -> ElementFields {
    ElementFields(kind: kind, data: data, lifetime: expires.or(FeedState.end(after: ttl, now)))
  }
}

/// Items that end: protocol, section 2.14.
extension FeedState {
  /// The end of an item that is written now.
  @inline(__always)
  static func end(after ttl: NumberField, _ now: Int64) -> NumberField {
    ttl.number.map { NumberField(TimestampFormat.nearest(now + $0)) } ?? .absent
  }

  /// Sets the end of an item that an event wrote in a section with a time to live, and notes an item that has ended.
  @inline(__always)
  func renew(_ item: ElementHandle, _ event: UnsafePointer<Event>, _ now: Int64) {
    if totals.endCount > 0 { renewEnd(item, event.pointee.fields.lifetime, now) }
  }

  @inline(never)
  private func renewEnd(_ item: ElementHandle, _ given: NumberField, _ now: Int64) {
    if given == .absent, let settings = list(items[item].scope).pointee.settings {
      setContent(item: item, ElementFields(lifetime: FeedState.end(after: settings.ttl, now)))
    }
    noteEnded(item, items[item].content.end, now)
  }

  /// Notes an item that the current record has written, if its end has come.
  @inline(__always)
  func noteEnded(_ item: ElementHandle, _ expires: NumberField, _ now: Int64) {
    if let end = expires.number, end <= now { ended.append(item) }
  }

  /// Deletes the noted items, unless a later event of the record has changed their ends.
  ///
  /// - Returns: the number of items.
  @inline(__always)
  func deleteEnded(by now: Int64) -> Int { ended.isEmpty ? 0 : deleteNoted(by: now) }

  @inline(never)
  private func deleteNoted(by now: Int64) -> Int {
    defer { ended.removeAll() }
    return ended.count { item in
      guard items[item].isPresent, let end = items[item].content.end.number, end <= now else { return false }
      delete(item)
      return true
    }
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

  /// Counts the changed end of an item in the feed.
  @inline(never)
  func countEnd(of item: ElementHandle, instead old: Content) {
    let new = items[item].content
    totals.endCount += (new.hasEnd ? 1 : 0) - (old.hasEnd ? 1 : 0)
    if new.end != old.end { schedule(new.end, of: item) }
  }

  func schedule(_ end: NumberField, of item: ElementHandle) {
    guard let ends, let end = end.number else { return }
    ends.queue.add(ItemEnds.Entry(time: end, feed: ends.feed, item: item))
  }

  /// Schedules the ends of all items.
  func scheduleEnds() {
    if totals.endCount == 0 { return }
    for section in currentHandles(.sections) {
      for item in currentHandles(.items(of: section)) { schedule(items[item].content.end, of: item) }
    }
  }

  /// Begins to track the ends of a replica's items.
  package func trackEnds() {
    if ends != nil { return }
    ends = (ItemEnds(), 0)
    scheduleEnds()
  }

  /// The earliest end of the items, if it is tracked.
  package var earliestEnd: Int64? {
    while let entry = ends?.queue.heap.first, !self.ends(entry.item, at: entry.time) { ends?.queue.removeFirst() }
    return ends?.queue.heap.first?.time
  }

  /// An item's end; nil if it does not end, or does not exist.
  package func end(of id: ByteSpan) -> Int64? { items.findPresent(id).flatMap { items[$0].content.end.number } }
}
