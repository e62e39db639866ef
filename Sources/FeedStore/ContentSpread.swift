internal import Feed

/// Shows the contents that a process has read in the items of a store, in slices, so that records are applied between them.
struct ContentSpread {
  private let table: ContentTable
  /// The store's number in the table.
  private let store: Int
  private let windowMilliseconds: Int64
  /// Contents that are being shown, with the number of references that are left in the last one's partition.
  private var contents: [(partition: Int32, number: UInt32)] = []
  private var left = Int.max
  /// When the oldest change was noticed that is not shown everywhere, by the caller's clock; nil if there is none.
  private(set) var since: Int64?

  init(_ table: ContentTable, windowMilliseconds: Int64) {
    self.table = table
    store = table.follow()
    self.windowMilliseconds = windowMilliseconds
  }

  /// When the next slice may be shown; nil if nothing has changed.
  func nextTime(at now: Int64) -> Int64? {
    if !contents.isEmpty { return now }
    return since.map { $0 + windowMilliseconds } ?? (table.hasChanges(for: store) ? now : nil)
  }

  /// Takes the changed contents if their window is over, and none are being shown.
  ///
  /// - Returns: the number of changes.
  mutating func take(for partitions: some Collection<Int32>, at now: Int64) -> Int {
    guard contents.isEmpty, since != nil || table.hasChanges(for: store) else { return 0 }
    let start = since ?? now
    since = start
    guard now >= start + windowMilliseconds else { return 0 }
    let changes = table.takeChanges(for: store)
    for partition in partitions { contents += changes.map { (partition, $0) } }
    if contents.isEmpty { since = nil }
    return changes.count
  }

  /// Calls the body with the partition, a content's number and timestamp, and the number of references that are left, until
  /// it leaves some.
  mutating func advance(_ show: (Int32, UInt32, Int64, inout Int) -> Void) {
    if contents.isEmpty { return }
    while let (partition, number) = contents.last {
      show(partition, number, table.time(of: number), &left)
      if left > 0 { return }
      contents.removeLast()
      left = .max
    }
    since = nil
  }
}
