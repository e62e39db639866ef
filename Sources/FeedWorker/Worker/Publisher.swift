import Feed
import FeedKafka
import FeedStatus
import FeedStore
import FeedTransactions
import Kafka
import OperatingSystem

/// Publishes the store's pending changes: prepares the flush in progress, which it owns, for the transaction whose calls
/// ``TransactionCaller`` makes, and confirms it or rolls it back.
///
/// Used on the worker's thread only, inside the store's isolation.
final class Publisher {
  private let environment: WorkerEnvironment
  private let status: WorkerStatus
  let transactionalID: String
  private let calls: TransactionCaller
  /// Nil until the topics are found.
  private var writer: PublicationWriter?
  /// The flush in progress, from ``beginFlush(_:)`` until it is confirmed or rolled back.
  private var flush: Flush?
  private var clock = FlushClock()

  init(
    _ identity: WorkerIdentity,
    _ settings: KafkaSettings,
    _ environment: WorkerEnvironment,
    _ calls: TransactionCaller
  ) {
    self.environment = environment
    self.calls = calls
    status = environment.status.worker(identity.number)
    transactionalID = settings.transactionalID(of: identity)
  }

  func setTopics(_ options: FeedStoreOptions, _ layout: TopicLayout) {
    writer = PublicationWriter(options, layout, environment.rejectedLimit, crash: environment.crash)
  }

  /// Nil until the topics are found.
  var layout: TopicLayout? { writer?.layout }

  /// Sets the known end of a changesets partition.
  func setEnd(_ end: Int64, of partition: Int32) { writer?.ends.note(end, of: partition) }

  /// A lower bound of a changesets partition's end; nil if unknown.
  func end(of partition: Int32) -> Int64? { writer?.ends.end(of: partition) }

  // MARK: Calls of the producer

  func beginFlush(_ store: isolated FeedStore) {
    clock.begin()
    let start = MonotonicClock.nanoseconds()
    flush = store.beginFlush()
    clock.addPlanning(since: start)
  }

  /// Makes the call of a step of a transaction.
  ///
  /// - Parameters:
  ///   - forgotten: up to these offsets, feeds may claim records of inputs whose offsets have started over.
  ///   - limit: when to stop retrying failed calls, in milliseconds of the monotonic clock.
  func call(
    _ step: TransactionMachine.Step,
    _ store: isolated FeedStore,
    _ machine: WorkerMachine,
    _ consumer: any GroupConsumer,
    forgotten: [TopicPartition: Int64],
    until limit: Int64
  ) -> TransactionMachine.Outcome {
    let start = MonotonicClock.nanoseconds()
    defer {
      if let stage = step.stage { clock.add(stage, since: start) }
      status.heartbeat()
    }
    return calls.call(step, machine.transactions) { () throws(KafkaError) in
      try write(store)
      return .wrote(
        endsTransaction: flush?.isAtEndOfTransaction == true,
        isLast: flush?.isAtEnd == true
      )
    } addOffsets: { () throws(KafkaError) in
      try addOffsets(consumer, until: limit) {
        committedOffsets(store, $0, else: machine.positions.resume, forgotten)
      }
    }
  }

  /// Queues the next part of the flush, or the rest of the previous part.
  private func write(_ store: isolated FeedStore) throws(KafkaError) {
    // The flush stays in place: a noncopyable value that was taken out cannot be put back when a call throws.
    guard flush != nil, writer != nil else { preconditionFailure("there is no flush to write") }
    if writer!.isIdle {
      let start = MonotonicClock.nanoseconds()
      store.prepareNextPart(of: &flush!)
      clock.addPlanning(since: start)
      writer!.begin()
    }
    try store.withPart(of: flush!) { (part) throws(KafkaError) in try calls.producer.queue(part, by: &writer!)
    }
  }

  /// Adds the offsets to the transaction while its records are in flight; and again if a partition ends later
  /// than the offsets' metadata says, because others have written to it.
  private func addOffsets(
    _ consumer: any GroupConsumer,
    until limit: Int64,
    _ offsets: (any GroupMembership) -> [TopicPartition: CommittedOffset]
  ) throws(KafkaError) {
    var isOutdated = false
    repeat {
      let membership = try consumer.membership()
      try calls.producer.sendOffsets(
        offsets(membership),
        membership,
        timeoutMilliseconds: offsetsTime(until: limit)
      )
      // The commit would wait for the same deliveries.
      try calls.producer.flush(timeoutMilliseconds: TransactionCaller.callMilliseconds)
      isOutdated = writer?.correctEnds(by: calls.producer) == true
    } while isOutdated
  }

  /// The maximum time for adding offsets.
  private func offsetsTime(until limit: Int64) -> Int32 {
    let left = min(limit, environment.stop.deadline ?? .max) - environment.milliseconds()
    return Int32(
      max(Int64(TransactionCaller.callMilliseconds), min(left, Int64(TransactionCaller.offsetsMilliseconds)))
    )
  }

  /// The offsets that the transaction commits, with metadata. If it is not its flush's last, it repeats the
  /// `committed` offsets, to prove that the partitions are still this worker's.
  private func committedOffsets(
    _ store: isolated FeedStore,
    _ membership: any GroupMembership,
    else committed: [TopicPartitionOffset],
    _ forgotten: [TopicPartition: Int64]
  ) -> [TopicPartition: CommittedOffset] {
    var positions = committed
    if flush?.isAtEnd == true {
      // Items end without records, and offsets carry the known end of the changesets.
      let covered = covered(store)
      let partitions = Set(covered.map(\.partition))
      let others = positions.filter { !partitions.contains($0.partition) }
      positions = covered + others.filter { store.isPublicationDue(of: $0.partition) }
    }
    let author = membership.member.map { CommitMetadata.Author(member: $0, producer: transactionalID) }
    let contents = environment.contents
    let seen = contents?.table.seen ?? [:]
    let entries = positions.map { position in
      let metadata = CommitMetadata(
        changesetsEnd: writer?.ends.endIfCommitted(of: position.partition),
        hasSettings: store.hasSettings(partition: position.partition, after: flush!),
        hasEnds: contents != nil || store.hasEnds(partition: position.partition, after: flush!),
        partitions: layout?.inputPartitions,
        // After that offset, a feed cannot mistake any remaining record for one that it has applied.
        forgotten: forgotten[position.topicPartition].flatMap { position.offset <= $0 ? $0 : nil },
        contents: seen,
        author: author
      )
      return (position.topicPartition, CommittedOffset(position.offset, metadata: metadata.text))
    }
    return Dictionary(entries) { $1 }
  }

  /// The offsets at which the input continues after the flush's records.
  private func covered(_ store: isolated FeedStore) -> [TopicPartitionOffset] {
    store.withPart(of: flush!) { part in
      part.covered.map {
        TopicPartitionOffset(
          topic: String(decoding: $0.topic, as: UTF8.self),
          partition: $0.partition,
          offset: $0.nextOffset
        )
      }
    }
  }

  // MARK: Ends of transactions

  /// Confirms a committed transaction to the store.
  ///
  /// - Parameter milliseconds: the flush's duration so far.
  /// - Returns: the next input offsets and the flush's rejected and unchanged records, if the transaction was its last.
  func confirm(
    _ store: isolated FeedStore,
    isWhole: Bool,
    milliseconds: Int64
  ) -> ([TopicPartitionOffset], [RejectedRecord], unchanged: [(partition: Int32, record: TopicOffset)]) {
    calls.confirm()
    writer?.ends.commit()
    let offsets = isWhole ? covered(store) : []
    if isWhole { store.notePublication(milliseconds: milliseconds) }
    guard let committed = flush.take() else { preconditionFailure("there is no flush to confirm") }
    let (rejected, unchanged) =
      isWhole ? store.withPart(of: committed) { ($0.rejected, $0.unchanged) } : ([], [])
    flush = store.confirm(committed)
    return (offsets, rejected, unchanged)
  }

  var stages: FlushClock { clock }

  /// Rolls back the flush in progress, if there is one.
  func rollBack(_ store: isolated FeedStore) {
    if let flush = flush.take() { store.rollBack(flush) }
    writer?.discard()
  }
}

extension TransactionMachine.Step {
  /// The stage of a flush to which the call belongs.
  fileprivate var stage: FlushStage? {
    switch self {
    case .begin, .write: .produce
    case .addOffsets: .offsets
    case .commit: .commit
    case .nothing, .register, .abort, .replace: nil
    }
  }
}
