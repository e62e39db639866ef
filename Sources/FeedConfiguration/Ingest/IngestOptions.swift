package import Feed
package import Service

/// What `feedstore ingest` reads, and how it maps rows to feeds (docs/ingest.md).
package struct IngestOptions: Sendable, Equatable {
  /// The consumer group of `feedstore ingest`, which is not the daemon's.
  package var group = "feedstore-ingest"
  package var sources: [IngestSource] = []

  /// The defaults: nothing to read.
  package init() {}

  /// An error for commands that need sources.
  package static let noSources = ConfigurationError(
    "ingest.sources is empty; name the topics to read and how their rows become items, as docs/ingest.md shows"
  )

  /// The names of the sources' topics.
  package var topics: [String] { sources.map(\.topic) }
}

/// A topic of rows or change events, and the places of its rows in feeds.
package struct IngestSource: Sendable, Equatable {
  package enum Format: String, Sendable, CaseIterable {
    /// The value is the row, and the record's key its identity; a null deletes it.
    case json
    /// The value is Debezium's envelope in JSON, with or without its schema.
    case debezium
  }

  /// What becomes an item's data.
  package enum Content: Sendable, Equatable {
    /// The value at a pointer; the row is at `""`.
    case pointer(JSONPointer, text: String)
    /// An object of some of the row's members, whose names are in quotes.
    case members([(name: String, pointer: JSONPointer)])

    package static func == (one: Content, other: Content) -> Bool {
      switch (one, other) {
      case (.pointer(_, let one), .pointer(_, let other)): one == other
      case (.members(let one), .members(let other)): one.map(\.name) == other.map(\.name)
      default: false
      }
    }
  }

  /// A member of the row, and the values that it may have.
  package struct Condition: Sendable, Equatable {
    package let pointer: JSONPointer
    /// In JSON; numbers as they are spelled.
    package let values: [ConditionValue]
  }

  package enum ConditionValue: Sendable, Equatable {
    case string([UInt8])
    /// A number, `true` or `false`, as it is spelled.
    case literal([UInt8])
    /// Null, or no member.
    case null
  }

  package let topic: String
  package let format: Format
  package let feed: IngestTemplate
  package let section: IngestTemplate
  package let item: IngestTemplate
  package let kind: IngestTemplate?
  package let content: Content
  package let conditions: [Condition]
  /// The order of the sections that it feeds, as JSON; nil if they have none.
  package let order: String?
  /// The number of items that these sections keep; nil for all.
  package let keep: Int?

  /// Whether the key alone says which item a row is.
  package var isKeyed: Bool { feed.usesOnlyKey && item.usesOnlyKey }
  /// Whether the sections have settings, so that an event for a section precedes its items.
  package var hasSettings: Bool { order != nil || keep != nil }
}
