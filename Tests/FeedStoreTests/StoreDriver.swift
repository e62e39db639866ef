import ChangesetTestSupport
import FeedChecks
import FeedStore
import Oracle

@testable import Feed

/// Runs records through a store, and checks its publications with the oracle's judge.
struct StoreDriver {
  private(set) var store: FeedStore
  var oracle: Oracle
  var judge: ChangesetJudge
  private let options: FeedStoreOptions
  /// Called with each flush's records.
  var onFlush: ([JudgedRecord]) throws -> Void = { _ in }
  /// Whether each flush is first rolled back and its records applied again.
  var rollsBack = false
  /// Chooses where a flush of several transactions fails after one that is not its last; nil for no failures.
  var failures: SplitMix64?
  /// The number of committed transactions that were not the last of their flush.
  private(set) var earlyTransactions = 0
  /// How often the oracle rejected a record, by the limit on state.
  private(set) var passedLimits: [String: Int] = [:]

  /// The contents, which outlive each store.
  private let contents = ContentTable()

  init(_ options: FeedStoreOptions = FeedStoreOptions()) {
    self.options = options
    store = FeedStore(options: options, contents: contents)
    oracle = Oracle(
      limits: options.limits,
      coalescing: options.coalescing,
      contentsTopic: options.topics.contents
    )
    judge = ChangesetJudge(planner: options.planner, keyframes: options.keyframe, output: options.output)
  }

  struct Disagreement: Error, CustomStringConvertible {
    let description: String
  }

  /// Applies the records one by one, compares every flush, and flushes at the end.
  mutating func run(_ records: [OracleRecord], checkingInvariants: Bool = true) async throws {
    var window: [OracleRecord] = []
    for record in records {
      let batch = RecordBatch([record])
      var flushes: [PublishedRecords] = []
      var isTaken = false
      while try await store.apply(batch, time: .records) == .flushDue {
        // The record belongs to the flush unless the flush must come first.
        isTaken = batch.current() == nil
        flushes.append(try await flushStore(isTaken ? window + [record] : window))
        window = []
      }
      if !isTaken { window.append(record) }
      if checkingInvariants { await store.checkInvariants() }
      let step = oracle.take(record)
      let expected = step.earlier + [step.flushBefore, step.flushAfter].compactMap { $0 }
      guard flushes.count == expected.count else {
        throw Disagreement(description: "\(flushes.count) flushes, expected \(expected.count), at \(record)")
      }
      for (flush, expected) in zip(flushes, expected) { try compare(flush, expected) }
    }
    if let expected = oracle.finish() {
      try compare(try await flushStore(window), expected)
    }
  }

  /// Replaces the store by one that is restored from the published records only.
  mutating func restart(from logs: [Int: [JudgedRecord]]) async throws {
    store = FeedStore(options: options, contents: contents)
    for (partition, log) in logs {
      let replicas = ReplicaPartition(describesChanges: false)
      for record in log { _ = try replicas.apply(record) }
      try await store.restore(partition: Int32(partition), from: replicas)
    }
    await store.checkInvariants()
    oracle.forgetUnpublished()
  }

  /// Replaces the store by one that continues from the given-up partitions.
  ///
  /// - Parameter suffixes: the ends of the partitions' logs, to be read again.
  mutating func handOver(readingAgain suffixes: [Int: [JudgedRecord]]) async throws {
    let successor = FeedStore(options: options, contents: contents)
    let bytes = await store.stateBytes
    var taken = 0
    for (partition, suffix) in suffixes {
      guard let given = await store.takeOut(partition: Int32(partition)) else { continue }
      taken += given.replicas.stateBytes
      for record in suffix {
        if case .mismatch(let fault) = try given.replicas.apply(record) {
          throw Disagreement(description: "reading again what is known: \(fault.message)")
        }
      }
      let fresh = given.replicas.replicas.reduce(0) { $0 + StateSize.feed + $1.state.measure.bytes }
      guard given.replicas.stateBytes == fresh else {
        throw Disagreement(
          description: "\(given.replicas.stateBytes) bytes are counted, and there are \(fresh)"
        )
      }
      try await successor.restore(partition: Int32(partition), from: given.replicas)
    }
    guard await store.stateBytes == 0, await store.feedCount == 0, taken == bytes else {
      throw Disagreement(description: "of \(bytes) bytes \(taken) were given up")
    }
    store = successor
    await store.checkInvariants()
    oracle.forgetUnpublished()
  }

  private struct PublishedRecords {
    var records: [JudgedRecord] = []
    var rejected: [RejectedRecord] = []
  }

  private mutating func flushStore(_ window: [OracleRecord]) async throws -> PublishedRecords {
    if failures != nil { return try await publish(window) }
    let source = options.output.source
    var withdrawn: PublishedFlush?
    if rollsBack {
      withdrawn = await store.withdrawn(source: source)
      await store.checkInvariants()
      _ = try await store.apply(RecordBatch(window), time: .records)
    }
    let flush = await store.published(source: source)
    guard withdrawn == nil || withdrawn == flush else {
      throw Disagreement(description: "after a roll-back the same records come to something else")
    }
    await store.checkInvariants()
    return PublishedRecords(records: flush.records, rejected: flush.rejected)
  }

  /// Publishes a flush transaction by transaction. Some are followed by a failure: the rest is then rolled back, and
  /// the records are applied again.
  private mutating func publish(_ window: [OracleRecord]) async throws -> PublishedRecords {
    var published = PublishedRecords()
    var flush = await store.beginFlush()
    while true {
      let part = await store.nextPart(of: &flush, source: options.output.source)
      published.records += part.records
      published.rejected += part.rejected
      guard part.endsTransaction else { continue }
      guard let rest = await store.confirm(flush) else { break }
      earlyTransactions += 1
      guard failures?.next().isMultiple(of: 2) == true else {
        flush = rest
        continue
      }
      await store.rollBack(rest)
      await store.checkInvariants()
      _ = try await store.apply(RecordBatch(window), time: .records)
      flush = await store.beginFlush()
    }
    await store.checkInvariants()
    // Feeds that wait for the last transaction are not in order.
    published.records = published.records.enumerated().sorted { one, other in
      let (first, second) = (one.element, other.element)
      if first.partition != second.partition { return first.partition < second.partition }
      if first.feedID != second.feedID { return first.feedID.lexicographicallyPrecedes(second.feedID) }
      return one.offset < other.offset
    }.map(\.element)
    return published
  }

  private mutating func compare(_ flush: PublishedRecords, _ expected: OracleFlush) throws {
    try judge.judge(expected, flush.records)
    let codes = flush.rejected.map(\.rejection.code.rawValue)
    let expectedCodes = expected.rejected.map(\.rejection.code.rawValue)
    guard codes == expectedCodes else {
      throw Disagreement(description: "rejected with \(codes), expected \(expectedCodes)")
    }
    for (rejected, expected) in zip(flush.rejected, expected.rejected) {
      if let limit = expected.rejection.limit {
        passedLimits[limit, default: 0] += 1
        guard rejected.rejection.message.contains("\(limit) (") else {
          throw Disagreement(description: "expected \(limit) to be named: \(rejected.rejection.message)")
        }
      }
      guard rejected.key == expected.record.key, rejected.value == expected.record.value else {
        throw Disagreement(description: "a rejected record differs from its source")
      }
    }
    try onFlush(flush.records)
  }
}

extension JudgedRecord {
  /// The part of the key after the first slash.
  fileprivate var feedID: ArraySlice<UInt8> {
    key.drop { $0 != UInt8(ascii: "/") }.dropFirst()
  }
}
