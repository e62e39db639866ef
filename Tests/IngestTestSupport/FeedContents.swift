public import Oracle

/// What feeds contain: for each feed and section, the ids, kinds and data of the items in order. Empty ones are left out.
public struct FeedContents: Sendable {
  private var feeds: [String: OracleFeed] = [:]

  public init() {}

  public init(_ feeds: [OracleFeedKey: OracleFeed]) {
    for (key, feed) in feeds {
      // A feed in two partitions is a fault, which shows.
      self.feeds[text(key.id), default: OracleFeed()].sections += feed.sections
    }
  }

  /// Applies a changeset that has one part.
  public mutating func apply(_ value: OracleJSON) throws {
    let feed = String(decoding: value.last("feed")?.string ?? [], as: UTF8.self)
    feeds[feed] = try NaiveReplica.apply([value], to: feeds[feed])
  }

  public var sections: [String: [String: [String]]] {
    feeds.compactMapValues { feed in
      let sections = feed.sections.filter { !$0.items.isEmpty }.map { section in
        (text(section.id), section.items.map { "\(text($0.id)) \(text($0.kind)) \(text($0.data))" })
      }
      return sections.isEmpty ? nil : Dictionary(sections) { $0 + $1 }
    }
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
