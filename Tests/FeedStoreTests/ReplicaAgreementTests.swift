import ChangesetTestSupport
import Feed
import FeedChecks
import FeedStore
import Oracle
import Testing

@Suite struct ReplicaAgreementTests {
  /// A partition of the changesets topic, with a replica of each feed.
  private final class Follower {
    var log: [JudgedRecord] = []
    let replicas = ReplicaPartition()
    /// The content of a screen that is updated with the differences.
    var snapshots: [[UInt8]: Snapshot] = [:]

    func follow(_ change: ReplicaChange) throws {
      guard let replica = replicas.replica(of: change.feed) else { return }
      let (feed, current) = (Array(change.feed.utf8), replica.snapshot())
      if let difference = change.difference {
        try snapshots[feed]?.apply(difference)
      } else {
        snapshots[feed] = current
      }
      guard let snapshot = snapshots[feed], snapshot.hasSameContent(as: current) else {
        throw StoreDriver.Disagreement(
          description: "the difference of \(change) does not lead to the replica's state"
        )
      }
      if let complaint = replica.oracleFeed.complaint(about: snapshot) {
        throw StoreDriver.Disagreement(description: "a snapshot after \(change): \(complaint)")
      }
    }
  }

  @Test(arguments: RandomSetting.ofStore, RandomCases.seeds(21...23))
  func `a replica that follows has what was published`(
    setting: RandomSetting,
    seed: UInt64
  ) async throws {
    var generator = ReplicaAgreementTests.generator(setting, seed)
    var driver = ReplicaAgreementTests.driver(setting, seed)
    var partitions: [Int: Follower] = [:]
    driver.onFlush = { records in
      for record in records {
        let follower = partitions[record.partition] ?? Follower()
        partitions[record.partition] = follower
        follower.log.append(record)
        switch try follower.replicas.apply(record) {
        case .applied(let change): try follower.follow(change)
        case .removed(let feed, _): follower.snapshots[Array(feed.utf8)] = nil
        case .skipped, .waitingForParts: break
        case let other: throw StoreDriver.Disagreement(description: "a follower in step met \(other)")
        }
      }
    }
    do {
      for _ in 0..<15 {
        try await driver.run(generator.records(60))
        for (partition, follower) in partitions {
          try ReplicaAgreementTests.compare(follower.replicas, driver.oracle, partition)
        }
      }
      for (partition, follower) in partitions {
        try ReplicaAgreementTests.joinLate(follower.log, driver.oracle, partition, seed)
      }
    } catch {
      Issue.record("setting \(setting), seed \(seed): \(error)")
    }
  }

  private static func generator(_ setting: RandomSetting, _ seed: UInt64) -> RecordGenerator {
    var options = seed.isMultiple(of: 2) ? setting.generatorOfOrders : setting.generator
    options.hasEnds = seed % 3 != 1
    options.hasContents = seed % 3 == 2
    return RecordGenerator(seed: seed, options: options)
  }

  private static func driver(_ setting: RandomSetting, _ seed: UInt64) -> StoreDriver {
    var options = setting.options
    if seed % 3 == 2 { options.topics.contents = "feeds.contents" }
    return StoreDriver(options)
  }

  /// Compares every replica with the oracle's published feeds, including content.
  private static func compare(_ replicas: ReplicaPartition, _ oracle: Oracle, _ partition: Int) throws {
    var expected: [[UInt8]: OraclePublished] = [:]
    for key in oracle.feedKeys where key.partition == partition {
      if let published = oracle.published(key) {
        expected[key.id] = published
      }
    }
    guard replicas.replicas.count == expected.count else {
      throw StoreDriver.Disagreement(
        description: "partition \(partition): \(replicas.replicas.count) replicas, expected \(expected.count)"
      )
    }
    for replica in replicas.replicas {
      replica.checkInvariants()
      guard let published = expected[Array(replica.feed.utf8)], replica.oracleFeed == published.feed,
        Int(replica.revision) == published.revision, replica.epoch == Array(published.epoch.utf8),
        replica.through.map(\.offset)
          == published.through.sorted(by: { $0.key < $1.key }).map({ Int64($0.value) })
      else {
        throw StoreDriver.Disagreement(
          description: "partition \(partition): the replica of \(replica.feed) is not what was published"
        )
      }
    }
  }

  /// A follower that starts late, on a topic compacted up to any record, ends with the same state.
  private static func joinLate(
    _ log: [JudgedRecord],
    _ oracle: Oracle,
    _ partition: Int,
    _ seed: UInt64
  ) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<20 {
      let cut = random.below(log.count + 1)
      let compacted = compact(log, upTo: cut, dropsNulls: random.chance(50))
      let joiner = ReplicaPartition()
      for record in compacted {
        if case .mismatch(let fault) = try joiner.apply(record) {
          throw StoreDriver.Disagreement(description: "a joiner after compaction up to \(cut): \(fault)")
        }
      }
      do {
        try compare(joiner, oracle, partition)
        let count = joiner.replicas.count
        guard try joiner.takeFeeds().count == count else {
          throw StoreDriver.Disagreement(description: "a feed was not handed out")
        }
      } catch {
        throw StoreDriver.Disagreement(description: "compacted up to \(cut): \(error)")
      }
    }
  }

  /// The log after compaction: before the cut, only the last record of each key.
  private static func compact(_ log: [JudgedRecord], upTo cut: Int, dropsNulls: Bool) -> [JudgedRecord] {
    var last: [[UInt8]: Int] = [:]
    for (index, record) in log[..<cut].enumerated() { last[record.key] = index }
    let kept = log[..<cut].enumerated().filter { index, record in
      last[record.key] == index && !(dropsNulls && record.value == nil)
    }
    return kept.map(\.element) + log[cut...]
  }

  @Test(arguments: RandomSetting.ofStore, RandomCases.seeds(41...43))
  func `a store that is restored from its topic continues as if it had never stopped`(
    setting: RandomSetting,
    seed: UInt64
  ) async throws {
    var random = SplitMix64(seed: seed)
    var generator = ReplicaAgreementTests.generator(setting, seed)
    var driver = ReplicaAgreementTests.driver(setting, seed)
    var logs: [Int: [JudgedRecord]] = [:]
    driver.onFlush = { for record in $0 { logs[record.partition, default: []].append(record) } }
    do {
      for _ in 0..<25 {
        try await driver.run(generator.records(30))
        let dropsNulls = random.chance(50)
        let compacted = logs.mapValues { log in
          ReplicaAgreementTests.compact(log, upTo: random.below(log.count + 1), dropsNulls: dropsNulls)
        }
        try await driver.restart(from: compacted)
      }
    } catch {
      Issue.record("setting \(setting), seed \(seed): \(error)")
    }
  }

  @Test(arguments: RandomSetting.ofStore, RandomCases.seeds(44...46))
  func
    `what a store gives up goes on as if it had never stopped, also where its last changesets are read again`(
      setting: RandomSetting,
      seed: UInt64
    ) async throws
  {
    var random = SplitMix64(seed: seed)
    var generator = ReplicaAgreementTests.generator(setting, seed)
    var driver = ReplicaAgreementTests.driver(setting, seed)
    var logs: [Int: [JudgedRecord]] = [:]
    /// The starts of each partition's transactions.
    var starts: [Int: [Int]] = [:]
    driver.onFlush = { records in
      for (partition, records) in Dictionary(grouping: records, by: \.partition) {
        starts[partition, default: []].append(logs[partition, default: []].count)
        logs[partition, default: []] += records
      }
    }
    do {
      for _ in 0..<8 {
        try await driver.run(generator.records(30))
        let suffixes = logs.map { partition, log in
          let first = random.chance(30) ? log.count : random.pick(starts[partition] ?? [0])
          return (partition, Array(log[first...]))
        }
        try await driver.handOver(readingAgain: Dictionary(uniqueKeysWithValues: suffixes))
      }
    } catch {
      Issue.record("setting \(setting), seed \(seed): \(error)")
    }
  }
}
