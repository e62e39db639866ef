/// When the items of a partition end: a heap of 16 bytes for each item that ends, and for some that have changed since.
///
/// An entry counts only if its item still ends at that time, so nothing is removed when an item changes.
final class ItemEnds {
  /// The end of an item that does not end.
  static let never = Int64.max
  /// Bytes of the field in changesets.
  static let fieldBytes = #","expires":"""#.utf8.count + TimestampFormat.byteCount

  struct Entry {
    let time: Int64
    /// The feed's number in its directory.
    let feed: UInt32
    let item: ElementHandle
  }

  private(set) var heap: [Entry] = []
  private let clock: EndClock

  init(_ clock: EndClock) { self.clock = clock }

  var first: Entry? { heap.first }

  func add(_ entry: Entry) {
    clock.note(entry.time)
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
  func trim(counting count: Int, _ isCurrent: (Entry) -> Bool) {
    guard heap.count > 2 * count + 1024 else { return }
    let sorted = heap.filter(isCurrent).sorted {
      ($0.time, $0.feed, $0.item.number) < ($1.time, $1.feed, $1.item.number)
    }
    heap = []
    for entry in sorted where heap.last.map({ $0.feed != entry.feed || $0.item != entry.item }) ?? true {
      heap.append(entry)
    }
  }

  static func text(_ end: Int64) -> String {
    end == never ? "nothing" : TimestampFormat.withText(of: end) { $0.text }
  }
}

/// The earliest end of a store's items.
public final class EndClock {
  /// No item ends earlier.
  @exclusivity(unchecked) public private(set) var next = Int64.max

  public init() {}

  func note(_ end: Int64) { next = min(next, end) }

  /// Sets the earliest end of these partitions.
  public func set(_ directories: some Sequence<FeedDirectory>) {
    next = directories.reduce(ItemEnds.never) { min($0, $1.nextEnd) }
  }
}

extension ListedItem {
  /// Whether the list does not have the item, because it has ended.
  @inline(__always)
  func hasEnded(by now: Int64) -> Bool { expires.map { $0 <= now } ?? false }

  /// The fields, with the end in a section of a time to live.
  @inline(__always)
  func fields(ttl: Int?, now: Int64) -> ElementFields {
    var fields = fields
    if let ttl, expires == nil { fields.expires = FeedState.end(after: ttl, now) }
    return fields
  }
}

/// Items that end: protocol, section 2.14.
extension FeedState {
  /// The end of an item that is written now.
  static func end(after ttl: Int, _ now: Int64) -> Int64 { TimestampFormat.nearest(now + Int64(ttl)) }

  /// Sets the end of an item that an event wrote in a section with a time to live.
  @inline(__always)
  func renew(_ item: ElementHandle, _ event: UnsafePointer<Event>, _ now: Int64) {
    guard totals.settingsCount > 0, event.pointee.fields.expires == nil,
      let ttl = list(items[item].scope).pointee.settings?.ttl
    else { return }
    setContent(item: item, ElementFields(expires: FeedState.end(after: ttl, now)))
  }

  func delete(_ item: ElementHandle) {
    detach(item, items[item].scope)
    forgetForced(item, items)
  }

  /// Applies an event whose `expires` has passed: deletes its item.
  func endEarly(_ event: Event) -> NoOpReason? {
    guard let item = items.findPresent(event.item) else {
      return event.operation == .itemPatch ? .unknownItem : .expired
    }
    delete(item)
    endedEarly += 1
    return nil
  }

  /// Whether an item that may have changed ends at this time.
  func ends(_ item: ElementHandle, at time: Int64) -> Bool {
    item.index < items.used && items[item].isInUse && items[item].isPresent && items[item].content.end == time
  }

  /// Counts an item with an end that enters or leaves the feed.
  @inline(never)
  func countEnd(_ item: ElementHandle, sign: Int) {
    totals.endCount += sign
    if sign > 0 { scheduleEnd(item) }
  }

  @inline(never)
  func countEnds(_ item: ElementHandle, _ new: Content, instead old: Content) {
    totals.endCount += (new.hasEnd ? 1 : 0) - (old.hasEnd ? 1 : 0)
    guard new.hasEnd, new.end != old.end, let ends else { return }
    ends.queue.add(ItemEnds.Entry(time: new.end, feed: ends.feed, item: item))
  }

  func scheduleEnd(_ item: ElementHandle) {
    ends?.queue.add(ItemEnds.Entry(time: items[item].content.end, feed: ends!.feed, item: item))
  }

  /// Begins to track the ends of a replica's items.
  package func trackEnds() {
    if ends != nil { return }
    ends = (ItemEnds(EndClock()), 0)
    scheduleEnds()
  }

  /// The earliest end of the items, if it is tracked.
  package var earliestEnd: Int64? {
    while let entry = ends?.queue.first, !self.ends(entry.item, at: entry.time) { ends?.queue.removeFirst() }
    return ends?.queue.first?.time
  }

  /// An item's end; nil if it does not end, or does not exist.
  package func end(of id: ByteSpan) -> Int64? {
    items.findPresent(id).flatMap { items[$0].content.hasEnd ? items[$0].content.end : nil }
  }

  /// Schedules the ends of all items.
  func scheduleEnds() {
    if totals.endCount == 0 { return }
    for section in currentHandles(.sections) {
      for item in currentHandles(.items(of: section)) where items[item].content.hasEnd { scheduleEnd(item) }
    }
  }
}
