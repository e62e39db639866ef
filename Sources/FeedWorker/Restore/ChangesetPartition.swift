package import Feed
import FeedKafka
import FeedStore
import Kafka

/// What is read of one partition of the changesets topic: its feeds, and where to look for what they lack.
///
/// The same while a partition is followed on standby and while it is restored. It belongs to one thread at a time.
package final class ChangesetPartition {
  package let number: Int32
  /// Where what has to be read ends.
  private(set) var end: Int64
  /// Everything before it was read.
  package private(set) var position: Int64
  private let topic: String
  package let replicas: ReplicaPartition
  /// By feed, the offset of the first record that could not be applied since the last that could.
  private var unapplied: [[UInt8]: Int64] = [:]

  /// - Parameter indexer: may be that of other partitions that are read on the same thread.
  init(
    _ topic: String,
    _ number: Int32,
    from position: Int64 = 0,
    end: Int64 = .max,
    indexer: JSONIndexer = JSONIndexer()
  ) {
    self.topic = topic
    self.number = number
    self.position = position
    self.end = end
    replicas = ReplicaPartition(describesChanges: false, indexer: indexer)
  }

  /// What a store has given up, or what was followed for others, from an offset on.
  package init(_ topic: String, _ number: Int32, continuing replicas: ReplicaPartition, from position: Int64)
  {
    self.topic = topic
    self.number = number
    self.position = position
    end = .max
    self.replicas = replicas
  }

  /// The size of the feeds' state in bytes, by the formula of `StateSize`.
  var stateBytes: Int { replicas.stateBytes }

  /// Is read from now on up to an end, on another thread.
  func continueReading(until end: Int64, indexer: JSONIndexer) {
    self.end = end
    replicas.use(indexer)
  }

  /// Everything before an offset was read: what ends a transaction takes up offsets and is no record.
  func advance(to offset: Int64) { position = max(position, offset) }

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
    position = message.offset + 1
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
      the feed starts over; or name a new topic as topics.changesets and a new kafka.group.id, so that all \
      feeds are rebuilt from the input
      """
    )
  }
}
