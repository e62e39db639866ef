/// The difference between a feed's published and current state, in handles and positions.
///
/// Positions of `delete` and `from` refer to the published state, all others to the current one. Every list
/// is sorted: `deletes` by published position, the others by current position.
struct FeedDifference {
  /// A section or an item with the positions of its list of entries; other positions are not set.
  struct Entry {
    var handle: ElementHandle
    var fromScope = Scope.sections
    var from = Rank.first
    var toScope = Scope.sections
    var to = Rank.first
    /// By section order, then index.
    var sortKey: UInt64 = 0
  }

  typealias Entries = EntryLists<Entry>

  var sections = Entries()
  var items = Entries()

  /// The planner's weight: entries other than reconfigures.
  var weight: Int { sections.weight + items.weight }
  var isEmpty: Bool { sections.isEmpty && items.isEmpty }
  /// Entries of all kinds.
  var entryCount: Int { sections.count + items.count }
  /// Whether all entries are reconfigures.
  var isReconfigureOnly: Bool { weight == 0 }
}

/// The kinds of entries of a difference, in the order of the document.
package enum EntryKind: Int, CaseIterable {
  case delete, insert, move, reconfigure, reload

  /// The name of its list in the document.
  package var name: StaticString {
    switch self {
    case .delete: "delete"
    case .insert: "insert"
    case .move: "move"
    case .reconfigure: "reconfigure"
    case .reload: "reload"
    }
  }
}

/// The entries of either the sections or the items, by kind.
package struct EntryLists<Entry> {
  private var lists = InlineArray<5, [Entry]>(repeating: [])

  package subscript(kind: EntryKind) -> [Entry] {
    @inline(__always) get { lists[kind.rawValue] }
    @inline(__always) _modify { yield &lists[kind.rawValue] }
  }

  package var count: Int { EntryKind.allCases.reduce(0) { $0 + self[$1].count } }
  /// Entries other than reconfigures.
  package var weight: Int { count - self[.reconfigure].count }
  var isEmpty: Bool { count == 0 }
}

extension FeedDifference.Entry {
  /// An entry of one list.
  init(_ handle: ElementHandle, of scope: Scope, from: Rank = .first, to: Rank = .first, sortKey: UInt64) {
    self.init(handle: handle, fromScope: scope, from: from, toScope: scope, to: to, sortKey: sortKey)
  }
}

extension FeedDifference.Entries {
  mutating func sort() {
    for kind in EntryKind.allCases { Self.sort(&self[kind]) }
  }

  private static func sort(_ entries: inout [Entry]) {
    var at = 1
    while at < entries.count, entries[at - 1].sortKey < entries[at].sortKey { at += 1 }
    if at < entries.count { sortMany(&entries) }
  }

  /// The maximum number of bits of a digit.
  private static var mostDigitBits: Int { 10 }

  /// Sorts by the keys' digits, the least significant first: keys are positions, mostly with few digits.
  private static func sortMany(_ entries: inout [Entry]) {
    let differing = entries.reduce(0 as UInt64) { $0 | ($1.sortKey ^ entries[0].sortKey) }
    let bits = min(mostDigitBits, UInt64.bitWidth - differing.leadingZeroBitCount)
    // Counting pays if there are not many more digits than entries.
    guard entries.count << 4 >= 1 << bits else { return entries.sort { $0.sortKey < $1.sortKey } }
    if differing >> UInt64(bits) == 0 { return sortByOneDigit(&entries, bits) }
    let digitBits = UInt64(bits)
    var source = entries.indices.map { (key: entries[$0].sortKey, index: UInt32($0)) }
    var target = source
    let digits = 1 << Int(digitBits)
    var starts = [Int](repeating: 0, count: digits)
    var shift: UInt64 = 0
    while shift < 64, differing >> shift != 0 {
      defer { shift += digitBits }
      guard differing >> shift & UInt64(digits - 1) != 0 else { continue }
      starts.withUnsafeMutableBufferPointer { starts in
        source.withUnsafeBufferPointer { source in
          target.withUnsafeMutableBufferPointer { target in
            starts.update(repeating: 0)
            for element in source { starts[Int(element.key >> shift) & (digits - 1)] &+= 1 }
            var sum = 0
            for digit in starts.indices { (starts[digit], sum) = (sum, sum &+ starts[digit]) }
            for element in source {
              let digit = Int(element.key >> shift) & (digits - 1)
              target[starts[digit]] = element
              starts[digit] &+= 1
            }
          }
        }
      }
      swap(&source, &target)
    }
    entries = entries.withUnsafeBufferPointer { entries in source.map { entries[Int($0.index)] } }
  }

  /// Sorts keys that differ only in their lowest bits: counts them, and moves each entry to its position.
  private static func sortByOneDigit(_ entries: inout [Entry], _ bits: Int) {
    let digits = 1 << bits
    withUnsafeTemporaryAllocation(of: Int32.self, capacity: digits + entries.count) { numbers in
      // The start of each digit's entries, and each entry's position.
      let starts = numbers.baseAddress.unsafelyUnwrapped
      let places = starts + digits
      starts.initialize(repeating: 0, count: digits)
      entries.withUnsafeMutableBufferPointer { entries in
        for entry in entries { starts[Int(truncatingIfNeeded: entry.sortKey) & (digits - 1)] &+= 1 }
        var sum: Int32 = 0
        for digit in 0..<digits { (starts[digit], sum) = (sum, sum &+ starts[digit]) }
        for index in entries.indices {
          let digit = Int(truncatingIfNeeded: entries[index].sortKey) & (digits - 1)
          (places + index).initialize(to: starts[digit])
          starts[digit] &+= 1
        }
        for index in entries.indices {
          while Int(places[index]) != index {
            let place = Int(places[index])
            entries.swapAt(index, place)
            swap(&places[index], &places[place])
          }
        }
      }
    }
  }
}

/// Figures of a difference, counted from the touched elements without looking up positions: enough to decide
/// early that a reload is certain.
struct DifferenceTally {
  /// Entries that are certain, other than reconfigures.
  var certainWeight = 0
  /// Elements that may turn out to have moved within their list.
  var possibleMoves = 0
  var reconfigureCount = 0
  /// Items in both states that changed their kind.
  var changedKindCount = 0
  /// Items in both states.
  var commonItemCount = 0

  var isEmpty: Bool { !isCertain && possibleMoves == 0 }
  /// Whether there is a difference whatever the possible moves are.
  var isCertain: Bool { certainWeight > 0 || reconfigureCount > 0 }
}
