package import Feed
package import FeedConfiguration
package import FeedStore

/// Maps the rows of a batch, and returns the resulting records of feeds.
package final class MappedRows: InputBatch, @unchecked Sendable {
  private let rows: any InputBatch
  private let mappers: [[UInt8]: RowMapper]
  private let items: [UInt8]
  private let tell: (InputRecord, RowMapper.Outcome?) throws -> Void
  private let headers: () -> [ByteSpan?]
  /// The mapper of the latest topic, and whether it holds the records of a mapped row.
  @exclusivity(unchecked) private var mapper: RowMapper?
  @exclusivity(unchecked) private var topic: [UInt8] = []
  @exclusivity(unchecked) private var isMapped = false
  @exclusivity(unchecked) private var timestamp: Int64 = 0
  /// The number of that row's next record, and that record's offset.
  @exclusivity(unchecked) private var next = 0
  @exclusivity(unchecked) private var offset: Int64 = 0

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
    items = Array(options.topics.items.utf8)
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
    guard let (feed, value) = mapper?.record(next) else { return nil }
    let position = RecordPosition(topic: items, offset: offset, timestamp: timestamp)
    return InputRecord(partition: 0, position: position, key: feed, value: .bytes(value))
  }

  package func advance() {
    next += 1
    offset += 1
  }
}
