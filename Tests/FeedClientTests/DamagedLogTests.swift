import ChangesetTestSupport
import ConformanceSupport
import FeedTestSupport
import Foundation
import Oracle
import Testing

@testable import Feed
@testable import FeedClient

/// Random damage leads the replicas of a store, `FeedClient`, `clients/js/src/replica.js` and `clients/python` to the states of the
/// protocol's table, record by record.
@Suite struct DamagedLogTests {
  /// The expected state of a record's feed.
  struct State: Equatable, CustomStringConvertible {
    var epoch: String?
    var revision: Int?
    var checksum: String?
    var isStale: Bool
    var isWaiting: Bool?

    var description: String {
      let content = epoch.map { "\($0)@\(revision ?? -1) \(checksum ?? "-")" } ?? "no state"
      return content + (isStale ? ", stale" : "") + (isWaiting == true ? ", waiting" : "")
    }
  }

  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  private static func log(_ seed: UInt64) async throws -> ConformanceSupport.ChangesetLog {
    let log = try await ChangesetLog.random(seed, flushes: 10)
    let records = log.entries.map {
      JudgedRecord(partition: 0, key: $0.record.key, value: $0.record.value, headers: [], timestamp: 0)
    }
    var damage = RandomDamage(seed: seed)
    return damage.damaged(ConformanceSupport.ChangesetLog(records))
  }

  @Test func `the damage of each rule leads followers in Swift to the states of the vectors`() throws {
    let damaged = try ConformanceVectors().replicas.filter { $0.name.hasPrefix("damaged-") }
    #expect(damaged.count > 150)
    for vector in damaged { _ = try Self.follow(vector.log, vector.name) }
  }

  @Test func `random damage leads all followers to the same states`() async throws {
    let seeds = UInt64(1)...(RandomCases.areMany ? 1_000 : 60)
    var logs: [ConformanceSupport.ChangesetLog] = []
    var expected: [State?] = []
    for seed in seeds {
      let log = try await Self.log(seed)
      expected += try Self.follow(log, "seed \(seed)")
      logs.append(log)
    }
    #expect(expected.contains { $0?.isStale == true && $0?.epoch != nil })
    #expect(expected.contains { $0?.isStale == true && $0?.epoch == nil })
    #expect(expected.contains { $0?.isWaiting == true })
    let folder = try TemporaryFolder()
    let file = folder.url.appendingPathComponent("logs.ndjson")
    try Data(RandomDamage.text(of: logs)).write(to: file)
    let places = zip(seeds, logs).flatMap { seed, log in
      log.lines.indices.map { "seed \(seed), record \($0)" }
    }
    for command in [
      "node clients/js/test/support/follow-vectors.mjs",
      "/usr/bin/python3 clients/python/tests/vectors.py",
    ] {
      let run = try CommandRun(
        ["-c", "\(command) < \"\(file.path)\""],
        of: URL(fileURLWithPath: "/bin/sh"),
        in: Self.root,
        environment: ["PYTHONDONTWRITEBYTECODE": "1"]
      )
      let answers = run.output.split(separator: "\n")
      try #require(answers.count == expected.count, "\(command): \(run.error)")
      for (number, answer) in answers.enumerated() {
        guard var state = expected[number] else { continue }
        // Data may be invalid for strict parsers.
        let head = answer.split(separator: /, ?"sections":/, maxSplits: 1)[0]
        let text = head.count == answer.count ? String(answer) : head + "}"
        let found = try Self.state(OracleJSON.parse(Array(text.utf8)))
        // Stale states may be discarded.
        if state.isStale, found.epoch == nil {
          (state.epoch, state.revision, state.checksum) = (nil, nil, nil)
        }
        if found != state {
          Issue.record("\(command), \(places[number]): \(found), expected \(state)")
          return
        }
      }
    }
  }

  private static func state(_ json: OracleJSON) -> State {
    func text(_ name: String) -> String? {
      json.last(name)?.string.map { String(decoding: $0, as: UTF8.self) }
    }
    return State(
      epoch: text("epoch"),
      revision: json.last("revision").flatMap { Int(String(decoding: $0.minified, as: UTF8.self)) },
      checksum: text("checksum"),
      isStale: json.last("stale")?.content == .boolean(true),
      isWaiting: json.last("waiting")?.content == .boolean(true)
    )
  }

  /// Compares the followers in Swift with the oracle; returns the expected states, nil for keys that name no feed.
  private static func follow(_ log: ConformanceSupport.ChangesetLog, _ name: String) throws -> [State?] {
    var oracle = OracleFollower()
    let replicas = ReplicaPartition()
    let board = Subscriptions.opened()
    return try log.lines.enumerated().map { number, line in
      let outcome = oracle.take(partition: 0, key: line.key, value: line.value)
      let record = ChangesetSource.Record(key: line.key, value: line.value)
      _ = try? replicas.apply(record)
      board.take([record])
      guard let key = outcome.feed else { return nil }
      let expected = oracle.replicas[key]
      let hasState = expected?.state != nil
      let state = State(
        epoch: hasState ? String(decoding: expected?.epoch ?? [], as: UTF8.self) : nil,
        revision: hasState ? expected?.revision : nil,
        checksum: hasState ? expected?.checksum : nil,
        isStale: expected?.isStale == true,
        isWaiting: expected?.isWaiting == true
      )
      let id = key.id.withUnsafeBytes { ByteText(ByteSpan($0)) }
      let replica = replicas.replica(of: id.string)
      let content = board.content(of: id)
      let loss = board.collect { $0.lossesWithoutContent }.contains { ByteText($0.feed) == id }
      let found = [
        State(
          epoch: replica.map { String(decoding: $0.epoch, as: UTF8.self) },
          revision: replica.map { Int($0.revision) },
          checksum: replica.map { Replica.hexadecimal($0.checksum) },
          isStale: replicas.staleReason(of: id) != nil
        ),
        State(
          epoch: content?.description.epoch,
          revision: content.map { Int($0.description.revision) },
          checksum: content.map { Replica.hexadecimal($0.snapshot.checksum) },
          isStale: content?.description.outdated != nil || loss
        ),
      ]
      var comparable = state
      comparable.isWaiting = nil
      for (follower, found) in zip(["ReplicaPartition", "FeedClient"], found) where found != comparable {
        let value = line.value.map { String(decoding: $0, as: UTF8.self) } ?? "null"
        throw JudgeFailure(
          "\(follower), \(name), record \(number): \(found), expected \(comparable): "
            + "\(String(decoding: line.key, as: UTF8.self)) \(value)"
        )
      }
      if let replica, let content, let expected = expected?.state {
        let expectedLines = lines(expected)
        #expect(lines(replica.snapshot()) == expectedLines, "\(name), record \(number)")
        #expect(lines(content.snapshot) == expectedLines, "\(name), record \(number)")
      }
      return state
    }
  }

  private static func lines(_ feed: OracleFeed) -> [String] {
    func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
    return feed.sections.flatMap { section in
      ["\(text(section.id)) \(text(section.data))"]
        + section.items.map { "  \(text($0.id)) \(text($0.kind)) \(text($0.data))" }
    }
  }

  private static func lines(_ snapshot: Snapshot) -> [String] {
    snapshot.sectionIdentifiers.flatMap { section in
      let items = (try? snapshot.itemIdentifiers(inSection: section)) ?? []
      return ["\(section) \(snapshot.data(ofSection: section)?.description ?? "")"]
        + items.map {
          "  \($0) \(snapshot.kind(ofItem: $0)?.description ?? "") \(snapshot.data(ofItem: $0)?.description ?? "")"
        }
    }
  }
}
