import Feed

/// A feed that streams follow, and its readers by window.
struct StreamedFeed: Sendable {
  var views: [FeedWindow?: StreamedView] = [:]
  /// The number of updates since there are readers.
  var steps = 0
  /// How often the feed was lost or removed. States from before the last time are invalid.
  var breaks = 0
  /// The last known number, for the order in which states are sent.
  var itemCount = 0
  var sectionCount = 0

  var hasWindows: Bool { views.count > (views[nil] == nil ? 0 : 1) }

  /// The approximate number of items in a window.
  func size(of window: FeedWindow?) -> Int {
    switch window?.extent {
    case nil, .all: itemCount
    case .first(let count): min(itemCount, count * sectionCount)
    case .slice(_, let count): min(itemCount, count)
    }
  }
}

struct StreamedView: Sendable {
  private(set) var readers: [ReaderID: StreamReader] = [:]
  /// While there were readers, all changesets before this offset were delivered.
  var newest: Int64 = -1
  /// Readers that need an up-to-date notice.
  var awaiting: Set<ReaderID> = []
  /// The last totals that the readers received.
  var totals: [UInt8]?

  subscript(id: ReaderID) -> StreamReader? {
    get { readers[id] }
    set {
      readers[id] = newValue
      if newValue?.isLagging == false { awaiting.insert(id) } else { awaiting.remove(id) }
    }
  }

  /// Passes an event on to each reader.
  ///
  /// - Returns: readers that began to lag.
  mutating func visit(_ body: (inout StreamReader) -> Void) -> [ReaderID] {
    var lagging: [ReaderID] = []
    var index = readers.startIndex
    while index != readers.endIndex {
      let wasLagging = readers.values[index].isLagging
      body(&readers.values[index])
      if readers.values[index].isLagging, !wasLagging { lagging.append(readers.keys[index]) }
      readers.formIndex(after: &index)
    }
    return lagging
  }
}
