import Diagnostics
import Feed
import FeedConfiguration
import FeedIngest
import FeedKafka
import FeedStore
import Kafka

/// A rejected record as stored on the rejected topic.
///
/// Anyone with write access to that topic can write anything, so its headers are untrusted input.
struct RejectedCopy: Sendable, Equatable {
  var position: RejectedPosition
  /// When the record was rejected, in milliseconds since 1970.
  var timestampMilliseconds: Int64
  var key: [UInt8]?
  var value: [UInt8]?
  var headers: [Header]

  /// The reject code; nil if the header is missing.
  var code: String? { text("feedstore.error.code") }
  var message: String? { text("feedstore.error.message") }
  /// The size of the original key in bytes, if the copy is truncated.
  var wholeKeyBytes: Int? { text("feedstore.key.truncated").flatMap { Int($0) } }
  /// The size of the original value in bytes, if the copy is truncated.
  var wholeValueBytes: Int? { text("feedstore.value.truncated").flatMap { Int($0) } }

  /// nil if the headers do not name a topic and a partition.
  var source: RejectedSource? {
    guard let topic = text("feedstore.source.topic"), !topic.isEmpty,
      let partition = text("feedstore.source.partition").flatMap({ Int32($0) }), partition >= 0
    else { return nil }
    return RejectedSource(
      topic: topic,
      partition: partition,
      offset: text("feedstore.source.offset").flatMap { Int64($0) },
      timestampMilliseconds: text("feedstore.source.timestamp").flatMap { Int64($0) }
    )
  }

  /// Why the record cannot be published again, with the remedy; nil if it can.
  ///
  /// - Parameters:
  ///   - value: a replacement for its value; nil for the copy's own.
  ///   - topics: the daemon's inputs, to which records are sent.
  ///   - sources: the sources of `feedstore ingest`, to whose topics rows are sent.
  func refusal(
    replacing value: [UInt8]?,
    topics: [String],
    _ sources: [IngestSource] = [],
    limits: Limits
  ) -> String? {
    guard let source else {
      return
        "its headers do not say where it came from, so the daemon did not write it; have its producer send it again"
    }
    let row = sources.first { $0.topic == source.topic }
    guard topics.contains(source.topic) || row != nil else {
      return
        "it came from \(source.topic), which is not an input of this configuration; use the configuration of the daemon or of feedstore ingest that read it"
    }
    if let wholeKeyBytes {
      return
        "only \(key?.count ?? 0) of the \(wholeKeyBytes) bytes of its key are kept; have its producer send it again"
    }
    if value == nil, let wholeValueBytes {
      return """
        only \(self.value?.count ?? 0) of the \(wholeValueBytes) bytes of its value are kept; give the whole value with \
        --value, or have its producer send it again
        """
    }
    return rejection(value ?? self.value, of: row, limits).map { rejection in
      """
      it would be rejected again with \(rejection.code.rawValue): \(rejection.message); \
      \(rejection.code == .missingKey ? "have its producer send it with a key" : "repair the value and give it with --value")
      """
    }
  }

  /// The rejection that the daemon would report for the record's form, or `feedstore ingest` for a row. Only the daemon can
  /// check it against the feed's state.
  private func rejection(_ value: [UInt8]?, of row: IngestSource?, _ limits: Limits) -> Rejection? {
    let key = OwnedBytes(key)
    let value = OwnedBytes(value)
    if let row {
      // Which schemas there are may have changed since.
      if row.format.isAvro { return nil }
      let mapper = RowMapper(row, number: 0, limits, SentSections())
      // A copy does not have the record's headers.
      let outcome = mapper.map(key: key.bytes.map { ByteSpan($0) }, value: value.bytes.map { ByteSpan($0) }) {
        message?.contains(RowMapper.rekeyedHeader) == true
      }
      guard case .rejected(let rejection) = outcome else { return nil }
      return rejection
    }
    let decoder = RecordDecoder(limits: limits)
    do throws(Rejection) {
      try decoder.decode(key: key.bytes.map { ByteSpan($0) }, value: value.bytes.map { ByteSpan($0) })
      return nil
    } catch {
      return error
    }
  }

  /// If a header occurs several times, the last one counts.
  private func text(_ name: String) -> String? {
    headers.last { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
  }
}

extension RejectedCopy {
  init(_ message: Message) {
    position = RejectedPosition(partition: message.partition, offset: message.offset)
    timestampMilliseconds = message.timestampMilliseconds
    key = message.key.map { Array($0) }
    value = message.payload.map { Array($0) }
    headers = message.headers()
  }
}

/// The position of a record on the rejected topic, written as `3/1042`.
package struct RejectedPosition: Sendable, Hashable, CustomStringConvertible {
  /// The partition's number, from 0.
  package let partition: Int32
  /// 0 or more.
  package let offset: Int64

  package var description: String { "\(partition)/\(offset)" }
}

extension RejectedPosition {
  /// Parses the form of ``description``; nil for anything else.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ $0.first?.isNumber == true }),
      let partition = Int32(parts[0]), let offset = Int64(parts[1]), offset < .max
    else { return nil }
    self.init(partition: partition, offset: offset)
  }
}

/// The origin of a rejected record, from the headers of its copy.
struct RejectedSource: Sendable, Equatable {
  let topic: String
  /// From 0.
  let partition: Int32
  /// nil if the header is missing or not a number.
  let offset: Int64?
  /// Milliseconds since 1970; nil if the header is missing or not a number.
  let timestampMilliseconds: Int64?
}

extension TopicReader {
  /// A reader of the rejected topic.
  static func ofRejected(
    _ settings: KafkaSettings,
    _ configuration: FeedStoreConfiguration,
    log: Log
  ) throws(KafkaError) -> TopicReader {
    try TopicReader(
      settings,
      configuration,
      topic: (configuration.store.topics.rejected, "topics.rejected"),
      patienceMilliseconds: 30_000,
      log: log
    )
  }

  /// The record at a position.
  ///
  /// - Throws: ``DaemonError`` with the existing offsets if there is none; `KafkaError`.
  func rejectedCopy(at position: RejectedPosition) throws -> RejectedCopy {
    let count = try partitionCount()
    guard position.partition < count else {
      throw missing(position, "the topic has the partitions 0 to \(count - 1)")
    }
    let marks = try watermarks(position.partition)
    guard position.offset >= marks.low, position.offset < marks.high else {
      throw missing(
        position,
        marks.low < marks.high
          ? "the partition has the offsets \(marks.low) to \(marks.high - 1); its retention has deleted older ones"
          : "the partition has no records; earlier ones may have been deleted by its retention"
      )
    }
    var found: RejectedCopy?
    try read([position.partition: position.offset..<marks.high]) { message in
      if message.offset == position.offset { found = RejectedCopy(message) }
      return false
    }
    guard let found else {
      throw missing(position, "Kafka uses that offset for the end of a transaction")
    }
    return found
  }

  private func missing(_ position: RejectedPosition, _ reason: String) -> DaemonError {
    DaemonError(
      .missingRecord,
      "there is no record \(position) in \(topic): \(reason); 'feedstore rejects list' lists the records"
    )
  }
}
