package import Feed

/// A partition of the changesets topic during reading: its feeds, and the position.
///
/// Restorations and followers share this type, so that one can continue from the other. It belongs to one thread at a time.
package final class ReadPartition {
  package let number: Int32
  /// All records before this offset were read.
  package private(set) var position: Int64
  package let replicas: ReplicaPartition
  private let topic: String
  /// Whether all records reported by the brokers were read.
  package private(set) var isAtEnd = false
  /// Why a store must not continue from these feeds: the first record that is malformed or does not apply.
  package private(set) var damage: (offset: Int64, fault: ReplicaFault)?
  /// By feed, the offset of the first record that could not be applied, until one is applied again.
  private var unapplied: [[UInt8]: Int64] = [:]

  /// - Parameters:
  ///   - position: the offset of the first record.
  ///   - indexer: may be shared by all partitions that are read on the same thread.
  package init(
    _ topic: String,
    _ number: Int32,
    from position: Int64 = 0,
    indexer: JSONIndexer = JSONIndexer()
  ) {
    self.topic = topic
    self.number = number
    self.position = position
    replicas = ReplicaPartition(describesChanges: false, indexer: indexer)
  }

  /// Continues from replicas that include all records before an offset.
  package init(_ topic: String, _ number: Int32, continuing replicas: ReplicaPartition, from position: Int64)
  {
    self.topic = topic
    self.number = number
    self.position = position
    self.replicas = replicas
  }

  /// The size of the feeds' state in bytes, by the formula of `StateSize`.
  package var stateBytes: Int { replicas.stateBytes }

  /// The partition's name and position, for messages.
  package func place(at offset: Int64? = nil) -> String {
    "\(topic) [\(number)]" + (offset.map { ", offset \($0)" } ?? "")
  }

  // MARK: Reading

  /// Applies the next record.
  ///
  /// - Throws: a ``ReplicaFault`` for a record that does not belong to a changesets topic.
  package func apply(offset: Int64, key: ByteSpan, value: ByteSpan?) throws(ReplicaFault) -> ReplicaOutcome {
    pass(offset)
    let outcome: ReplicaOutcome
    do {
      outcome = try replicas.apply(key: key, value: value)
    } catch {
      if damage == nil { damage = (offset, error) }
      throw error
    }
    switch outcome {
    case .mismatch(let fault): if damage == nil { damage = (offset, fault) }
    case .gap, .otherEpoch, .waitingForParts:
      // In a compacted topic a later reload closes the gap; if none follows, this is the place to report.
      if let feed = Self.feed(of: key), unapplied[feed] == nil { unapplied[feed] = offset }
    case .applied, .removed: if !unapplied.isEmpty, let feed = Self.feed(of: key) { unapplied[feed] = nil }
    case .skipped: break
    }
    return outcome
  }

  /// Moves past a record, which was applied or skipped.
  package func pass(_ offset: Int64) {
    position = offset + 1
    isAtEnd = false
  }

  private static func feed(of key: ByteSpan) -> [UInt8]? { RecordKey(key).map { Array($0.feed.buffer) } }

  /// The partition was read to its end, which may be beyond transaction markers, which are not records.
  package func reachEnd(at offset: Int64) {
    position = max(position, offset)
    isAtEnd = true
  }

  /// The offset of the first record that a feed lacks; nil if unknown.
  package func firstUnapplied(of feed: String) -> Int64? { unapplied[Array(feed.utf8)] }

  // MARK: Handover

  /// Passes the feeds to a store; no record may be applied afterwards.
  package func takeReplicas() -> sending ReplicaPartition {
    // The store removes the feeds, on this same thread, and does not keep the replicas.
    nonisolated(unsafe) let taken = replicas
    return taken
  }
}
