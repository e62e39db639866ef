import Feed
import FeedKafka
import Kafka

/// What is read of one partition of the changesets topic: its feeds, and where to look for what they lack.
final class ChangesetPartition {
  let number: Int32
  /// Where what has to be read ends.
  let end: Int64
  private let topic: String
  private let replicas: ReplicaPartition
  /// By feed, the offset of the first record that could not be applied since the last that could.
  private var unapplied: [[UInt8]: Int64] = [:]

  /// - Parameter indexer: may be that of other partitions that are read on the same thread.
  init(_ topic: String, _ number: Int32, end: Int64, indexer: JSONIndexer) {
    self.topic = topic
    self.number = number
    self.end = end
    replicas = ReplicaPartition(describesChanges: false, indexer: indexer)
  }

  /// Takes the next record.
  ///
  /// - Throws: ``DaemonError`` for a record that is none or does not fit.
  func apply(_ message: some ConsumedRecord) throws(DaemonError) {
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

  private static func feed(of message: some ConsumedRecord) -> [UInt8]? {
    message.key.flatMap { RecordKey(ByteSpan($0)) }.map { Array($0.feed.buffer) }
  }

  /// Hands out what was read; nothing may be applied any more.
  func takeReplicas() -> sending ReplicaPartition {
    // The store takes the feeds out, on this same thread, and does not keep it.
    nonisolated(unsafe) let taken = replicas
    return taken
  }

  /// Names the place and the remedy for what the partition lacks at its end.
  func failure(_ fault: ReplicaFault) -> DaemonError {
    failure(fault, at: fault.feed.flatMap { unapplied[Array($0.utf8)] })
  }

  private func failure(_ fault: ReplicaFault, at offset: Int64?) -> DaemonError {
    let place = "\(topic) [\(number)]" + (offset.map { ", offset \($0)" } ?? "")
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
