import Feed
import FeedClient

/// A feed that streams follow, and its readers by what they are shown of it.
struct StreamedFeed: Sendable {
  var views: [FeedWindow?: StreamedView] = [:]
  /// How often the feed was lost or removed. A state that was encoded before the last time is invalid.
  var breaks = 0
  /// As far as known, for the order in which states are sent.
  var itemCount = 0
  var sectionCount = 0

  var hasWindows: Bool { views.count > (views[nil] == nil ? 0 : 1) }

  /// About how many items a window shows.
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
  /// While there were readers, everything before this offset was delivered.
  var newest: Int64 = -1
  /// Readers that must be told when they are up to date.
  var awaiting: Set<ReaderID> = []
  /// The totals that the readers were sent last.
  var totals: [UInt8]?

  subscript(id: ReaderID) -> StreamReader? {
    get { readers[id] }
    set {
      readers[id] = newValue
      if newValue?.isLagging == false { awaiting.insert(id) } else { awaiting.remove(id) }
    }
  }

  /// Passes something on to each reader.
  ///
  /// - Returns: readers that begin to lag.
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
