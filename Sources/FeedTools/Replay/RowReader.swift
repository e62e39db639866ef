import Feed
import FeedConfiguration
import FeedIngest
import FeedStore

/// Reads rows and change events from replay files, and hands out the records of feeds that they become.
final class RowReader: InputBatch, @unchecked Sendable {
  private let reader: ReplayReader
  private let mappers: [[UInt8]: RowMapper]
  private let items: [UInt8]
  private let reject: (RejectedRecord) throws(ReplayError) -> Void
  /// Of the line that was mapped last; nil before it is.
  private var mapper: RowMapper?
  private var timestamp: Int64 = 0
  /// The number of the next record of that line, and the offset that it has.
  private var next = 0
  private var offset: Int64 = 0

  /// The rows so far, and those that could not be mapped.
  private(set) var count = 0
  private(set) var rejects: [RejectCode: Int] = [:]

  /// - Parameter reject: takes the rows that cannot be mapped.
  init(
    _ reader: ReplayReader,
    _ ingest: IngestOptions,
    _ options: FeedStoreOptions,
    reject: @escaping (RejectedRecord) throws(ReplayError) -> Void
  ) {
    self.reader = reader
    self.reject = reject
    items = Array(options.topics.items.utf8)
    let sections = SentSections()
    let mappers = ingest.sources.enumerated().map { number, source in
      (Array(source.topic.utf8), RowMapper(source, number: number, options.limits, sections))
    }
    self.mappers = Dictionary(uniqueKeysWithValues: mappers)
  }

  func current() throws -> InputRecord? {
    while next >= mapper?.recordCount ?? 0 {
      if mapper != nil { reader.advance() }
      mapper = nil
      guard let row = try reader.current() else { return nil }
      try map(row)
    }
    guard let mapper else { return nil }
    let (feed, value) = mapper.record(next)
    let position = RecordPosition(topic: items, offset: offset, timestamp: timestamp)
    return InputRecord(partition: 0, position: position, key: feed, value: .bytes(value))
  }

  func advance() {
    next += 1
    offset += 1
  }

  private func map(_ row: InputRecord) throws(ReplayError) {
    guard let mapper = mappers[row.position.topic] else {
      let topic = String(decoding: row.position.topic, as: UTF8.self)
      throw reader.refusal(
        "the topic '\(topic)' is none of ingest.sources; add it there, or leave the line out"
      )
    }
    self.mapper = mapper
    next = 0
    timestamp = row.position.timestamp
    count += 1
    guard case .rejected(let rejection) = mapper.map(key: row.key, value: row.valueBytes) else { return }
    rejects[rejection.code, default: 0] += 1
    try reject(RejectedRecord(row, rejection))
  }
}
