internal import Feed

/// Shows the contents that a process has read in the items of a store, in slices, so that records are applied between them.
struct ContentSpread {
  private let table: ContentTable
  /// The store's number in the table.
  private let store: Int
  private let windowMilliseconds: Int64
  /// The contents that are being shown, and the partitions.
  private var contents: [UInt32] = []
  private var partitions: [Int32] = []
  /// The place in `partitions` of the last content, and the number of references that are left there.
  private var place = 0
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
  mutating func take(for partitions: [Int32], at now: Int64) -> Int {
    guard contents.isEmpty, since != nil || table.hasChanges(for: store) else { return 0 }
    let start = since ?? now
    since = start
    guard now >= start + windowMilliseconds else { return 0 }
    contents = table.takeChanges(for: store)
    self.partitions = partitions
    return contents.count
  }

  /// Calls the body with the partition, a content's number and timestamp, and the number of references that are left, until
  /// it leaves some.
  mutating func advance(_ show: (Int32, UInt32, Int64, inout Int) -> Void) {
    if contents.isEmpty { return }
    while let number = contents.last {
      let time = table.time(of: number)
      while place < partitions.count {
        show(partitions[place], number, time, &left)
        if left > 0 { return }
        left = .max
        place += 1
      }
      contents.removeLast()
      place = 0
    }
    since = nil
  }
}
