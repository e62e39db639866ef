import Feed
import Kafka

/// Reads partitions of the changesets topic from their beginning, one at a time, into replicas.
///
/// Two clients, as what may be read and how far there is something to read are different questions: with
/// committed isolation the broker would name the last stable offset, before a transaction that is not known
/// to have ended, and what was committed last could be missed.
final class ChangesetReader {
  let topic: String
  private let reader: Consumer
  private let measurer: Consumer
  private let batch: MessageBatch
  private var replicas = ReplicaPartition(describesChanges: false)
  private var partition: Int32?
  /// By feed, the offset of the first record that could not be applied since the last that could.
  private var unapplied: [[UInt8]: Int64] = [:]

  /// What one reading brought.
  struct Portion {
    var records = 0
    var bytes = 0
    /// Everything before it was read; nil if nothing came.
    var position: Int64?
  }

  private static let batchCapacity = 10_000

  init(_ settings: KafkaSettings, topic: String, log: @escaping KafkaLogHandler) throws(KafkaError) {
    self.topic = topic
    reader = try Consumer(configuration: settings.reader, isolationLevel: .readCommitted, log: log)
    measurer = try Consumer(configuration: settings.reader, isolationLevel: .readUncommitted, log: log)
    batch = reader.makeBatch(capacity: Self.batchCapacity)
  }

  /// Where a partition of any topic begins and ends, whatever becomes of open transactions.
  func ends(of partition: TopicPartition, timeoutMilliseconds: Int32) throws(KafkaError) -> Watermarks {
    try measurer.queryWatermarks(partition, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Begins with a partition, and forgets what was read of another.
  func open(_ partition: Int32) throws(KafkaError) {
    replicas = ReplicaPartition(describesChanges: false)
    unapplied = [:]
    self.partition = partition
    try reader.assign([
      TopicPartitionOffset(topic: topic, partition: partition, offset: TopicPartitionOffset.beginning)
    ])
  }

  /// Reads what there is, waiting for it if need be.
  ///
  /// - Throws: ``KafkaError``, which may pass; ``DaemonError`` for a record that is none or does not fit.
  func read(timeoutMilliseconds: Int32) throws -> Portion {
    try reader.poll(into: batch, timeoutMilliseconds: timeoutMilliseconds)
    var portion = Portion()
    for index in 0..<batch.count {
      let message = batch[index]
      // What came of another partition was on its way when this one was opened.
      guard message.partition == partition else { continue }
      try apply(message)
      portion.records += 1
      portion.bytes += message.size
      portion.position = message.offset + 1
    }
    for event in batch.events {
      switch event {
      case .endOfPartition(_, let partition, let offset) where partition == self.partition:
        portion.position = max(portion.position ?? 0, offset)
      case .endOfPartition: break
      case .error(let error): if !error.isRetriable { throw error }
      }
    }
    return portion
  }

  private func apply(_ message: Message) throws(DaemonError) {
    let outcome: ReplicaOutcome
    do {
      let key = message.key.map { ByteSpan($0) } ?? .empty
      outcome = try replicas.apply(key: key, value: message.payload.map { ByteSpan($0) })
    } catch {
      throw failure(error, at: message.offset)
    }
    switch outcome {
    case .mismatch(let fault):
      throw failure(fault, at: message.offset)
    case .gap, .otherEpoch, .waitingForParts:
      // In a compacted topic a later reload makes up for it; if none comes, this is where to look.
      if let feed = Self.feed(of: message), unapplied[feed] == nil { unapplied[feed] = message.offset }
    case .applied, .removed:
      if !unapplied.isEmpty, let feed = Self.feed(of: message) { unapplied[feed] = nil }
    case .skipped: break
    }
  }

  private static func feed(of message: Message) -> [UInt8]? {
    message.key.flatMap { RecordKey(ByteSpan($0)) }.map { Array($0.feed.buffer) }
  }

  /// Hands out what was read of the partition.
  func takeReplicas() -> sending ReplicaPartition {
    // Nobody else has it: it is made here and let go here.
    nonisolated(unsafe) let taken = replicas
    replicas = ReplicaPartition(describesChanges: false)
    return taken
  }

  /// Names the place and the remedy for what a partition lacks at its end.
  func failure(_ fault: ReplicaFault) -> DaemonError {
    failure(fault, at: fault.feed.flatMap { unapplied[Array($0.utf8)] })
  }

  private func failure(_ fault: ReplicaFault, at offset: Int64?) -> DaemonError {
    let place = "\(topic) [\(partition ?? -1)]" + (offset.map { ", offset \($0)" } ?? "")
    return DaemonError(
      .unreadableChangesets,
      """
      feeds cannot be restored from \(place): \(fault.message); nothing of the partition was taken over. \
      Make sure that nobody else writes to the topic and that its cleanup.policy is "compact". Then either \
      write nulls under the keys of that feed or record and start again when they are compacted, so that \
      the feed begins anew; or name a new topic as topics.changesets and a new kafka.group.id, so that all \
      feeds are made anew from the input
      """
    )
  }
}
