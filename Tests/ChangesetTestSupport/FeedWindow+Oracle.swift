package import Feed
package import Oracle

extension OracleFeed {
  /// The feed's content in a window: a plain slice.
  package func shown(in window: FeedWindow?) -> OracleFeed {
    guard let window else { return self }
    var shown = self
    if let ids = window.sections {
      shown.sections.removeAll { !ids.contains(ByteText(String(decoding: $0.id, as: UTF8.self))) }
    }
    for number in shown.sections.indices {
      let items = shown.sections[number].items
      switch window.extent {
      case .all: break
      case .first(let count): shown.sections[number].items = Array(items.prefix(count))
      case .slice(let from, let count):
        shown.sections[number].items = Array(items.dropFirst(from).prefix(count))
      }
    }
    return shown
  }
}

extension FeedWindow {
  /// A window that may show something of a feed.
  package static func random(of feed: OracleFeed, _ random: inout SplitMix64) -> FeedWindow {
    let ids = feed.sections.map { String(decoding: $0.id, as: UTF8.self) } + ["none", "s1"]
    switch random.below(6) {
    case 0: return FeedWindow(extent: .first(random.below(6)))
    case 1: return FeedWindow()
    case 2: return FeedWindow(sections: ids.filter { _ in random.chance(50) })
    case 3:
      return FeedWindow(sections: ids.filter { _ in random.chance(50) }, extent: .first(random.below(4)))
    default:
      return FeedWindow(
        sections: [random.pick(ids)],
        extent: .slice(from: random.below(4), count: random.below(5))
      )
    }
  }
}
