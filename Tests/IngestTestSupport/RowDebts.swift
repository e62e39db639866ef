import Feed
package import FeedConfiguration
import FeedIngest
import FeedKafka
import FeedStore
public import ObservationSupport
import Oracle

/// The records that the mapping owes for rows: the events of their items, their contents, and a copy of each rejected row.
public struct RowDebts: Sendable {
  /// By feed and item, or by content, in the order of the rows.
  private let events: [String: [String]]
  public let rejected: [Observation.Source: Observation.Rejected]

  /// - Parameter rows: the sources' records, each partition in order.
  package init(_ rows: [TopicRecord], _ ingest: IngestOptions) {
    let schemas = SchemaRegistry(ingest.schemas)
    let mappers = ingest.sources.enumerated().map {
      RowMapper($1, number: $0, Limits(), SentSections(), schemas)
    }
    let byTopic = Dictionary(uniqueKeysWithValues: mappers.map { ($0.source.topic, $0) })
    var records: [TopicRecord] = []
    var rejected: [Observation.Source: Observation.Rejected] = [:]
    for row in rows {
      guard let mapper = byTopic[row.topic] else { continue }
      let key = OwnedBytes(row.key)
      let value = OwnedBytes(row.value)
      let outcome = mapper.map(key: key.bytes.map { ByteSpan($0) }, value: value.bytes.map { ByteSpan($0) })
      if case .rejected(let rejection) = outcome {
        let source = Observation.Source(
          topic: row.topic,
          partition: Int(row.partition),
          offset: Int(row.offset)
        )
        let code = rejection.code.rawValue
        rejected[source] = Observation.Rejected(code: code, key: row.key, value: row.value)
      }
      for index in 0..<mapper.recordCount {
        let (key, value) = mapper.record(index)
        records.append(TopicRecord(key: Array(key.buffer), value: value.map { Array($0.buffer) }))
      }
    }
    events = Self.events(records)
    self.rejected = rejected
  }

  /// The faults of the written records, which must be there once, and in order if they concern one item or content.
  public func complaints(about written: [TopicRecord]) -> [String] {
    let found = Self.events(written)
    return Set(events.keys).union(found.keys).sorted().filter { events[$0] != found[$0] }.map {
      "\($0): expected \(events[$0] ?? []), found \(found[$0] ?? [])"
    }
  }

  /// The events of each record, by its feed and its last item; without those for sections, as each process sends its own. A
  /// content is by its id.
  private static func events(_ records: [TopicRecord]) -> [String: [String]] {
    func text(_ bytes: [UInt8]?) -> String { String(decoding: bytes ?? [], as: UTF8.self) }
    var events: [String: [String]] = [:]
    for record in records {
      let json = record.value.flatMap { try? OracleJSON.parse($0) }
      let ofItems = json.map { $0.elements ?? [$0] }?.filter {
        $0.last("op")?.string != Array("section.upsert".utf8)
      }
      let place = "\(text(record.key)): \(text(ofItems?.last?.last("item")?.string))"
      let isDeletion = record.value == nil
      events[place, default: []].append(
        isDeletion ? "null" : (ofItems ?? []).map { text($0.minified) }.joined(separator: ",")
      )
    }
    return events
  }
}
