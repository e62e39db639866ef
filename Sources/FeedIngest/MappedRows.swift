package import Feed
package import FeedConfiguration
package import FeedStore

/// Maps the rows of a batch, and returns the resulting records of feeds and contents.
package final class MappedRows: InputBatch, @unchecked Sendable {
  private let rows: any InputBatch
  private let mappers: [[UInt8]: RowMapper]
  private let topics: (items: [UInt8], contents: [UInt8])
  private let tell: (InputRecord, RowMapper.Outcome?) throws -> Void
  private let headers: () -> [ByteSpan?]
  /// The mapper of the latest topic, and whether it holds the records of a mapped row.
  @exclusivity(unchecked) private var mapper: RowMapper?
  @exclusivity(unchecked) private var topic: [UInt8] = []
  @exclusivity(unchecked) private var isMapped = false
  @exclusivity(unchecked) private var timestamp: Int64 = 0
  /// The number of that row's next record, and the offset of the next one in each topic.
  @exclusivity(unchecked) private var next = 0
  @exclusivity(unchecked) private var offsets: (items: Int64, contents: Int64) = (0, 0)

  /// - Parameters:
  ///   - rows: records of the sources' topics.
  ///   - headers: names and values of the current row's headers.
  ///   - tell: receives the outcome of each row, before its records; nil if its topic is not a source.
  package init(
    _ rows: any InputBatch,
    _ ingest: IngestOptions,
    _ options: FeedStoreOptions,
    _ sections: SentSections,
    headers: @escaping () -> [ByteSpan?],
    tell: @escaping (InputRecord, RowMapper.Outcome?) throws -> Void
  ) {
    self.rows = rows
    self.tell = tell
    self.headers = headers
    topics = (Array(options.topics.items.utf8), Array((options.topics.contents ?? "").utf8))
    let mappers = ingest.sources.enumerated().map { number, source in
      (Array(source.topic.utf8), RowMapper(source, number: number, options.limits, sections))
    }
    self.mappers = Dictionary(uniqueKeysWithValues: mappers)
  }

  package func current() throws -> InputRecord? {
    while !isMapped || next >= mapper?.recordCount ?? 0 {
      if isMapped { rows.advance() }
      isMapped = false
      guard let row = try rows.current() else { return nil }
      if row.position.topic != topic { (topic, mapper) = (row.position.topic, mappers[row.position.topic]) }
      let outcome = mapper?.map(key: row.key, value: row.valueBytes) { [headers] in
        headers().contains { $0?.text == RowMapper.rekeyedHeader }
      }
      (isMapped, next, timestamp) = (true, 0, row.position.timestamp)
      try tell(row, outcome)
    }
    guard let mapper else { return nil }
    let (key, value) = mapper.record(next)
    let (topic, offset) =
      mapper.isContent ? (topics.contents, offsets.contents) : (topics.items, offsets.items)
    let position = RecordPosition(topic: topic, offset: offset, timestamp: timestamp)
    return InputRecord(partition: 0, position: position, key: key, value: value.map { .bytes($0) } ?? .null)
  }

  package func advance() {
    next += 1
    if mapper?.isContent == true { offsets.contents += 1 } else { offsets.items += 1 }
  }
}
