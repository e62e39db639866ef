import Feed
import FeedStore
public import Oracle

/// A store that publishes into arrays: the content of a changesets topic.
public final class ChangesetSource {
  /// A record of the changesets topic.
  public struct Record: Sendable {
    public var key: [UInt8]
    public var value: [UInt8]?
    /// The header `feedstore.plan`.
    public var plan: [UInt8]?

    public init(key: [UInt8], value: [UInt8]?, plan: [UInt8]? = nil) {
      self.key = key
      self.value = value
      self.plan = plan
    }

    /// Calls with the bytes of the key and of the value.
    public func withBytes<Result>(
      _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer?) throws -> Result
    ) rethrows -> Result {
      try key.withUnsafeBytes { key in
        guard let value else { return try body(key, nil) }
        return try value.withUnsafeBytes { try body(key, $0) }
      }
    }
  }

  private let store: FeedStore
  private var taken: Int64 = 0

  public init(maxMessageBytes: Int = 900_000, maxDeltas: Int = 1_000) {
    var options = FeedStoreOptions()
    options.output.maxMessageBytes = maxMessageBytes
    options.keyframe.maxDeltas = maxDeltas
    options.keyframe.maxBytesRatio = 1_000_000
    // In small feeds, most changes would be reloads; the tests need differences.
    options.planner.maxBytesRatio = 1_000
    options.planner.minimumItems = 1_000_000
    options.coalescing.windowMilliseconds = 3_600_000
    options.coalescing.idleWindowMilliseconds = 3_600_000
    store = FeedStore(options: options)
  }

  /// Flushes these records of the feeds; nil values delete.
  public func flush(_ records: (feed: String, value: String?)...) async throws -> [Record] {
    let first = taken
    taken += Int64(records.count)
    return try await flush(
      records.enumerated().map { index, record in
        OracleRecord(
          topic: "feeds.items",
          partition: 0,
          offset: Int(first) + index,
          timestamp: 1_795_168_800_000 + Int(first) + index,
          key: Array(record.feed.utf8),
          value: record.value.map { Array($0.utf8) }
        )
      }
    )
  }

  /// Flushes these records.
  public func flush(_ records: [OracleRecord]) async throws -> [Record] {
    _ = try await store.apply(RecordBatch(records), time: .records)
    return await store.published().records.map { record in
      Record(
        key: record.key,
        value: record.value,
        plan: record.headers.first { $0.name == ChangesetPlan.header.description }?.value
      )
    }
  }

  /// An item of section `s`.
  public static func item(_ id: String, _ number: Int = 0, size: Int = 0) -> String {
    let padding = String(repeating: "x", count: size)
    return """
      {"op":"item.upsert","item":"\(id)","section":"s","kind":"k","data":{"n":\(number),"p":"\(padding)"}}
      """
  }
}
