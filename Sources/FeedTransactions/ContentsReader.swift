import Changesets
import Diagnostics
package import Feed
package import FeedConfiguration
package import FeedKafka
import FeedStatus
import FeedStore
package import Kafka
import Synchronization

/// Reads the contents topic into the table that the workers of a process share (protocol, section 2.16).
///
/// It has no thread: each worker reads on when it looks for work, and before it serves restored partitions.
package final class ContentsReader: Sendable {
  package let table = ContentTable()
  private let topic: String
  private let maxBytes: Int
  private let settings: KafkaSettings
  private let environment: WorkerEnvironment
  private let state: Mutex<State>

  /// Unchecked: it is used under the lock only.
  private final class State: @unchecked Sendable {
    /// Nil before the first read.
    var reader: PartitionReader?
    /// For each partition, the offset before which everything was read.
    var positions: [Int32: Int64] = [:]
    /// The ends before which no restored partition is served.
    var ends: [Int32: Int64] = [:]
    let decoder: RecordDecoder
    var statistics = ContentsStatistics()

    init(decoder: RecordDecoder) { self.decoder = decoder }

    /// The number of offsets before these ends that are not read.
    func remaining(of ends: [Int32: Int64]) -> Int64 {
      ends.reduce(0) { $0 + max(0, $1.value - (positions[$1.key] ?? 0)) }
    }
  }

  package init(
    _ topic: String,
    _ configuration: FeedStoreConfiguration,
    _ settings: KafkaSettings,
    _ environment: WorkerEnvironment
  ) {
    self.topic = topic
    maxBytes = configuration.maxContentsBytes
    self.settings = settings
    self.environment = environment
    state = Mutex(State(decoder: RecordDecoder(limits: configuration.store.limits)))
  }

  /// The ends that the brokers report now. A store that shows the contents up to there shows nothing older than another
  /// store did before.
  package func requestEnds(timeoutMilliseconds: Int32) throws(KafkaError) -> [Int32: Int64] {
    try state.withLock { state throws(KafkaError) in
      let reader = try open(state, timeoutMilliseconds, asks: true)
      var ends: [Int32: Int64] = [:]
      for number in state.positions.keys.sorted() {
        let partition = reader.topicPartition(number)
        ends[number] = try reader.client.queryWatermarks(partition, timeoutMilliseconds: timeoutMilliseconds)
          .high
      }
      return ends
    }
  }

  /// Reads on, after other workers that are reading.
  ///
  /// - Returns: the number of records left before these ends.
  /// - Throws: ``DaemonError`` if an operator has to act.
  package func read(
    upTo ends: [Int32: Int64],
    timeoutMilliseconds: Int32,
    while hasTime: () -> Bool
  ) throws -> Int64 {
    try state.withLock { state in
      state.ends.merge(ends) { max($0, $1) }
      if state.remaining(of: ends) > 0 { try read(state, timeoutMilliseconds, while: hasTime) }
      return state.remaining(of: ends)
    }
  }

  /// Reads the records that have arrived, unless another worker is reading.
  ///
  /// - Throws: ``DaemonError`` if an operator has to act.
  package func readArrived(while hasTime: () -> Bool) throws {
    _ = try state.withLockIfAvailable { state in
      // Only a restoration opens it, as that waits for brokers.
      if state.reader == nil { return }
      var before = 0
      repeat {
        before = state.statistics.records
        try read(state, 0, while: hasTime)
      } while state.statistics.records > before && hasTime()
    }
  }

  private func read(_ state: State, _ timeoutMilliseconds: Int32, while hasTime: () -> Bool) throws {
    let reader = try open(state, timeoutMilliseconds)
    let name = Array(topic.utf8)
    let before = state.statistics
    var (failure, isFirst): (DaemonError?, Bool) = (nil, true)
    let events = try reader.read(timeoutMilliseconds: timeoutMilliseconds) { record in
      if !isFirst, !hasTime() { return false }
      isFirst = false
      let position = RecordPosition(
        topic: name,
        offset: record.offset,
        timestamp: record.timestampMilliseconds
      )
      let rejection = table.apply(
        InputRecord(
          partition: record.partition,
          position: position,
          key: record.key.map { ByteSpan($0) },
          value: record.payload.map { .bytes(ByteSpan($0)) } ?? .null
        ),
        with: state.decoder
      ).rejection
      state.statistics.records += 1
      state.positions[record.partition] = record.offset + 1
      if let rejection { note(rejection, record.partition, record.offset, state) }
      if table.bytes > maxBytes { failure = tooLarge }
      return failure == nil
    }
    for (number, end) in events?.ends ?? [:] {
      state.positions[number] = max(state.positions[number] ?? 0, end)
    }
    state.statistics.count = table.valueCount
    state.statistics.bytes = table.bytes
    state.statistics.remaining = state.remaining(of: state.ends)
    if state.statistics != before { environment.status.contents = state.statistics }
    if let failure = failure ?? events?.failure.flatMap(lasting) { throw failure }
  }

  /// Opens the partitions that are not open yet. The daemon's regular check of its topics finds new ones.
  ///
  /// - Parameter asks: whether to ask the brokers for partitions that another member may know already.
  private func open(
    _ state: State,
    _ timeoutMilliseconds: Int32,
    asks: Bool = false
  ) throws(KafkaError) -> PartitionReader {
    var count = environment.status.partitionCount(of: topic)
    if !asks, let reader = state.reader, count <= state.positions.count { return reader }
    let reader: PartitionReader
    if let known = state.reader {
      reader = known
    } else {
      reader = PartitionReader(
        topic: topic,
        client: try environment.clients.makeReader(settings, log: environment.log)
      )
    }
    if asks {
      let metadata = try reader.client.metadataByName([topic], timeoutMilliseconds: timeoutMilliseconds)
      guard let found = metadata.partitionCounts[topic] else {
        throw .make(.unknownTopicOrPartition, "read topic \(topic)")
      }
      count = max(count, found)
    }
    var starts: [Int32: Int64] = [:]
    for number in 0..<count where state.positions[number] == nil {
      let partition = reader.topicPartition(number)
      // One that was added begins at 0. A worker that is not restoring cannot wait for brokers.
      starts[number] =
        state.reader != nil
        ? 0 : try reader.client.queryWatermarks(partition, timeoutMilliseconds: timeoutMilliseconds).low
    }
    try reader.add(starts)
    state.positions.merge(starts) { $1 }
    state.reader = reader
    return reader
  }

  private func note(_ rejection: Rejection, _ partition: Int32, _ offset: Int64, _ state: State) {
    state.statistics.rejected += 1
    // The rest is only counted: a producer's mistake may be in all of its records.
    if state.statistics.rejected > Self.mostLogged { return }
    environment.log.write(
      .contentRejected,
      "a record of the contents topic is not a valid content; the content of its key is deleted",
      ["partition": partition, "offset": offset, "code": rejection.code.rawValue, "error": rejection.message]
    )
  }

  private static let mostLogged = 100

  private var tooLarge: DaemonError {
    DaemonError(
      .kafka,
      "the contents of topic \(topic) have more than \(maxBytes) bytes (limits.maxContentsBytes), and each process keeps all "
        + "of them in memory; delete contents, or raise the limit if there is memory for more"
    )
  }

  /// The error to stop for; nil if librdkafka tries again, which is logged.
  private func lasting(_ error: KafkaError) -> DaemonError? {
    if error.kind == .autoOffsetReset {
      return DaemonError(
        .lostInput,
        "topic \(topic) was recreated or cut while it was read: \(error); send all contents again, and then start feedstore, "
          + "which shows only the contents that the topic has"
      )
    }
    if error.isFatal || error.kind.isRefusal { return .cannot("read topic \(topic)", error) }
    environment.log.write(.contentsRetrying, "the contents topic cannot be read; retrying", ["error": error])
    return nil
  }
}
