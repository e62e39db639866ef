/// The parts of a feed that a difference touches, by section: computed once for all windows of the feed.
struct TouchedLists {
  /// The touched part of one section's items.
  struct List {
    /// `delete` lists elements that left the list, `insert` those that entered it, also by moving. Contents
    /// are sorted by position.
    var entries = FeedDifference.Entries()
    /// The lowest position, in either version, from which elements may have moved.
    var lowest = Int32.max

    /// Whether any of a window's items changed.
    func isSeen(in window: FeedWindow) -> Bool {
      if lowest < window.end { return true }
      let range = window.from..<window.end
      return List.has(entries[.reconfigure], in: range) || List.has(entries[.reload], in: range)
    }

    private static func has(_ entries: [FeedDifference.Entry], in range: Range<Int>) -> Bool {
      var (low, high) = (0, entries.count)
      while low < high {
        let middle = (low + high) / 2
        if Int(entries[middle].to.number) < range.lowerBound { low = middle + 1 } else { high = middle }
      }
      return low < entries.count && Int(entries[low].to.number) < range.upperBound
    }
  }

  private(set) var lists: [Scope: List] = [:]
  /// The same by the sections' ids, for windows with given sections.
  private(set) var scopes: [ByteText: Scope] = [:]

  init(_ difference: FeedDifference, of state: FeedState) {
    for entry in difference.items[.delete] { depart(entry) }
    for entry in difference.items[.insert] { arrive(entry) }
    for entry in difference.items[.move] {
      if entry.fromScope == entry.toScope {
        lists[entry.toScope, default: List()].entries[.move].append(entry)
        touch(entry.toScope, min(entry.from, entry.to))
      } else {
        depart(entry)
        arrive(entry)
      }
    }
    for kind in [EntryKind.reconfigure, .reload] {
      for entry in difference.items[kind] {
        lists[entry.toScope, default: List()].entries[kind].append(entry)
      }
    }
    for scope in lists.keys { scopes[ByteText(state.sections.id(scope.section))] = scope }
  }

  private mutating func depart(_ entry: FeedDifference.Entry) {
    lists[entry.fromScope, default: List()].entries[.delete].append(entry)
    touch(entry.fromScope, entry.from)
  }

  private mutating func arrive(_ entry: FeedDifference.Entry) {
    lists[entry.toScope, default: List()].entries[.insert].append(entry)
    touch(entry.toScope, entry.to)
  }

  private mutating func touch(_ scope: Scope, _ rank: Rank) {
    let lowest = lists[scope]?.lowest ?? .max
    lists[scope]?.lowest = min(lowest, rank.number)
  }

  /// The lists with changes in a window.
  func seen(in window: FeedWindow) -> [(scope: Scope, list: List)] {
    let scopes = window.sections.map { $0.compactMap { self.scopes[$0] } } ?? Array(lists.keys)
    return scopes.compactMap { scope in
      lists[scope].flatMap { $0.isSeen(in: window) ? (scope, $0) : nil }
    }
  }
}

/// The difference of a window, from the difference of its feed.
///
/// Positions are the window's. An element that enters it is inserted, and one that leaves it is deleted,
/// wherever it is in the feed. Costs O(k log n) for k touched elements if each section is shown as a whole;
/// of other sections with moves, the shown items before and after are compared.
struct WindowDifference {
  private(set) var difference = FeedDifference()
  /// The change of the items' checksum; unknown if sections changed, too.
  private(set) var checksumGrowth: UInt32 = 0

  private let state: FeedState
  private let window: FeedWindow
  /// The previous positions of items that left their list.
  private var departed: [ElementHandle: FeedDifference.Entry] = [:]
  private var arrived: [FeedDifference.Entry] = []
  private var inserted: Set<ElementHandle> = []

  init(_ whole: FeedDifference, _ touched: TouchedLists, of state: FeedState, in window: FeedWindow) {
    self.state = state
    self.window = window
    let seen = touched.seen(in: window)
    if !whole.sections.isEmpty { takeSections(whole.sections) }
    for (scope, list) in seen { takeOrder(scope, list) }
    takeArrivals()
    for (scope, list) in seen { takeContents(scope, list) }
    difference.sections.sort()
    difference.items.sort()
  }

  private func sortKey(_ scope: Scope, _ rank: Rank, published: Bool) -> UInt64 {
    guard let section = state.rank(scope.section, .sections, published: published) else {
      preconditionFailure("a section of a window is not in its feed")
    }
    return FeedState.sortKey(section, rank)
  }

  // MARK: Sections

  private mutating func takeSections(_ whole: FeedDifference.Entries) {
    guard window.sections != nil else {
      difference.sections = whole
      return
    }
    let before = state.sections(in: window, published: true)
    let now = state.sections(in: window, published: false)
    difference.sections = FeedDifference.Entries(from: before, to: now, of: .sections, state.sections)
    var positions = Dictionary(uniqueKeysWithValues: now.enumerated().map { ($1, Rank($0)) })
    for arrival in difference.sections[.insert] { positions[arrival.handle] = nil }
    difference.sections[.reconfigure] = Self.shown(whole[.reconfigure]) { positions[$0.handle] }
    difference.sections[.reload] = Self.shown(whole[.reload]) { positions[$0.handle] }
  }

  /// The entries for shown elements.
  ///
  /// - Parameter position: the position of an entry in the window; nil if it is not shown.
  private static func shown(
    _ entries: [FeedDifference.Entry],
    at position: (FeedDifference.Entry) -> Rank?
  ) -> [FeedDifference.Entry] {
    entries.compactMap { entry in
      guard let position = position(entry) else { return nil }
      var entry = entry
      entry.to = position
      return entry
    }
  }

  // MARK: Items

  private mutating func takeOrder(_ scope: Scope, _ list: TouchedLists.List) {
    let ordered = state.list(scope).pointee
    if state.isWhole(scope, in: window) {
      checksumGrowth &+= ordered.checksum &- ordered.publishedChecksum
      for entry in list.entries[.delete] { departed[entry.handle] = entry }
      arrived += list.entries[.insert]
      difference.items[.move] += list.entries[.move]
      return
    }
    guard list.lowest < window.end || !list.entries[.reload].isEmpty else { return }
    let before = ordered.tree.elements(
      state.range(of: window, in: scope, published: true),
      published: true
    )
    let after = ordered.tree.elements(state.range(of: window, in: scope, published: false), published: false)
    checksumGrowth &+=
      state.checksum(of: after, scope, published: false) &- state.checksum(of: before, scope, published: true)
    let change = FeedDifference.Entries(from: before, to: after, of: scope, state.items)
    for entry in change[.delete] { departed[entry.handle] = entry }
    arrived += change[.insert]
    for entry in change[.move] { appendMove(entry) }
  }

  private mutating func takeArrivals() {
    for var entry in arrived {
      if let departure = departed.removeValue(forKey: entry.handle) {
        entry.fromScope = departure.fromScope
        entry.from = departure.from
        appendMove(entry)
      } else {
        entry.sortKey = sortKey(entry.toScope, entry.to, published: false)
        difference.items[.insert].append(entry)
        inserted.insert(entry.handle)
      }
    }
    // A deleted section's items are deleted with it.
    for var entry in departed.values where state.sections[entry.fromScope.section].isPresent {
      entry.sortKey = sortKey(entry.fromScope, entry.from, published: true)
      difference.items[.delete].append(entry)
    }
  }

  private mutating func appendMove(_ entry: FeedDifference.Entry) {
    var entry = entry
    entry.sortKey = sortKey(entry.toScope, entry.to, published: false)
    difference.items[.move].append(entry)
  }

  private mutating func takeContents(_ scope: Scope, _ list: TouchedLists.List) {
    let range = state.range(of: window, in: scope, published: false)
    func position(_ entry: FeedDifference.Entry) -> Rank? {
      let isShown = range.contains(Int(entry.to.number)) && !inserted.contains(entry.handle)
      return isShown ? entry.to - Int32(range.lowerBound) : nil
    }
    difference.items[.reconfigure] += Self.shown(list.entries[.reconfigure], at: position)
    difference.items[.reload] += Self.shown(list.entries[.reload], at: position)
  }
}

extension FeedDifference.Entries {
  /// The difference of one list's shown elements, with the fewest moves, without contents. O(n log n).
  fileprivate init(
    from before: [ElementHandle],
    to after: [ElementHandle],
    of scope: Scope,
    _ table: ElementTable
  ) {
    self.init()
    // In this method, scratch is the previous position plus one, until the element is found in the new list.
    for (position, handle) in before.enumerated() { table[handle].scratch = UInt32(position + 1) }
    var common: [(handle: ElementHandle, from: Int32, to: Int)] = []
    for (position, handle) in after.enumerated() {
      let known = table[handle].scratch
      table[handle].scratch = 0
      if known == 0 {
        self[.insert].append(Entry(handle, of: scope, to: Rank(position), sortKey: UInt64(position)))
      } else {
        common.append((handle, Int32(known - 1), position))
      }
    }
    for (position, handle) in before.enumerated() where table[handle].scratch != 0 {
      table[handle].scratch = 0
      self[.delete].append(Entry(handle, of: scope, from: Rank(position), sortKey: UInt64(position)))
    }
    let isKept = LongestIncreasingSubsequence.membership(common.map(\.from))
    for (number, element) in common.enumerated() where !isKept[number] {
      let (from, to) = (Rank(element.from), Rank(element.to))
      self[.move].append(
        Entry(element.handle, of: scope, from: from, to: to, sortKey: UInt64(element.to))
      )
    }
  }
}
