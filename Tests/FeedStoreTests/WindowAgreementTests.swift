import ChangesetTestSupport
import FeedChecks
import Oracle
import Testing

@testable import Feed

/// The content of windows' readers, compared with a plain slice of the feed.
@Suite struct WindowAgreementTests {
  /// A reader of one window, which applies its messages in two ways.
  private struct Reader {
    let window: FeedWindow
    var shown: OracleFeed?
    var revision: UInt64 = 0
    let replicas = ReplicaPartition()

    mutating func take(_ text: [UInt8], of feed: [UInt8], isReload: Bool) throws {
      let json = try OracleJSON.parse(text)
      shown = try NaiveReplica.apply([json], to: shown)
      let key = Array((isReload ? "k0/" : "d1/").utf8) + feed
      guard case .applied(let change) = try replicas.apply(key, text) else {
        throw StoreDriver.Disagreement(
          description: "a replica refuses \(String(decoding: text, as: UTF8.self))"
        )
      }
      revision = change.revision
    }
  }

  /// A feed of a partition, with its readers.
  private final class Followed {
    var readers: [Reader] = []
    var changesets = 0
    let windows = OpenWindows()
  }

  private struct Address: Hashable {
    let partition: Int
    let feed: [UInt8]
  }

  /// Settings with many differences: in short windows, in long ones, and in parts.
  private static let settings: [RandomSetting] = [
    .usual, .everyRecord, .differencesOnly, .smallPartsOfDifferences,
  ]

  @Test(arguments: settings, RandomCases.seeds(71...76))
  func `a reader has the slice of the feed at each revision`(setting: RandomSetting, seed: UInt64) async {
    var options = seed.isMultiple(of: 2) ? setting.generatorOfOrders : setting.generatorOfLargeFeeds
    options.hasEnds = seed.isMultiple(of: 3)
    options.sectionCount = 4
    var generator = RecordGenerator(seed: seed, options: options)
    var random = SplitMix64(seed: seed)
    var driver = StoreDriver(setting.options)
    var partitions: [Int: ReplicaPartition] = [:]
    var followed: [Address: Followed] = [:]
    driver.onFlush = { records in
      for record in records {
        let replicas = partitions[record.partition] ?? ReplicaPartition(describesChanges: false)
        partitions[record.partition] = replicas
        guard let slash = record.key.firstIndex(of: UInt8(ascii: "/")) else { continue }
        let feed = Array(record.key[(slash + 1)...])
        let address = Address(partition: record.partition, feed: feed)
        let readers = followed[address] ?? Followed()
        followed[address] = readers
        replicas.windows = readers.windows
        guard case .applied(let change) = try replicas.apply(record),
          let replica = replicas.replica(of: String(decoding: feed, as: UTF8.self))
        else { continue }
        let content = replica.oracleFeed
        replica.checkInvariants()
        try Self.deliver(change, content, replica, replicas, feed, readers)
        if readers.readers.count < 8, random.chance(40) {
          var reader = Reader(window: .random(of: content, &random))
          readers.windows.open(reader.window, at: replica.revision)
          try reader.take(try Self.state(reader.window, replica, replicas), of: feed, isReload: true)
          readers.readers.append(reader)
        } else if random.chance(5), let reader = readers.readers.popLast() {
          if !readers.readers.contains(where: { $0.window == reader.window }) {
            readers.windows.close(reader.window)
          }
        }
      }
    }
    do {
      try await driver.run(generator.records(900), checkingInvariants: false)
      let changesets = followed.values.reduce(0) { $0 + $1.changesets }
      #expect(changesets > 5, "setting \(setting), seed \(seed) tests too little")
    } catch {
      Issue.record("setting \(setting), seed \(seed): \(error)")
    }
  }

  private static func deliver(
    _ change: ReplicaChange,
    _ content: OracleFeed,
    _ replica: Replica,
    _ replicas: ReplicaPartition,
    _ feed: [UInt8],
    _ followed: Followed
  ) throws {
    for number in followed.readers.indices {
      var reader = followed.readers[number]
      let before = reader.shown ?? OracleFeed()
      let expected = content.shown(in: reader.window)
      func fail(_ text: String) -> StoreDriver.Disagreement {
        StoreDriver.Disagreement(
          description: """
            revision \(change.revision), \(reader.window): \(text)
            before: \(before)
            shown: \(String(describing: reader.shown))
            expected: \(expected)
            """
        )
      }
      if change.mode == .reload {
        try reader.take(try Self.state(reader.window, replica, replicas), of: feed, isReload: true)
      } else if let changeset = followed.windows.changes[reader.window] {
        guard changeset.since <= reader.revision, reader.revision < change.revision else {
          throw fail("the reader is at \(reader.revision), the changeset continues \(changeset.since)")
        }
        let text = changeset.text(base: reader.revision)
        let json = try OracleJSON.parse(text)
        try check(json, before: before, expected, reader.window, fail)
        followed.changesets += 1
        try reader.take(text, of: feed, isReload: false)
      }
      guard reader.shown == expected else { throw fail("something else is shown") }
      followed.readers[number] = reader
    }
  }

  /// The content of a window, as a changeset of mode `reload`.
  private static func state(
    _ window: FeedWindow,
    _ replica: Replica,
    _ replicas: ReplicaPartition
  ) throws -> [UInt8] {
    replica.snapshot().reload(
      of: replica.feed,
      version: try #require(replicas.version(of: replica.feed)),
      timeMilliseconds: replica.timeMilliseconds,
      window: window
    )
  }

  /// Checks properties that a replica does not.
  private static func check(
    _ json: OracleJSON,
    before: OracleFeed,
    _ expected: OracleFeed,
    _ window: FeedWindow,
    _ fail: (String) -> StoreDriver.Disagreement
  ) throws {
    let moves = json.last("items")?.last("move")?.elements ?? []
    for section in expected.sections {
      let old = before.section(section.id)?.items.map(\.id) ?? []
      let common = section.items.compactMap { item in old.firstIndex(of: item.id) }
      let within = moves.count {
        $0.last("to")?.last("section")?.string == section.id
          && $0.last("from")?.last("section")?.string == section.id
      }
      let fewest = common.count - longestIncrease(common)
      guard window.extent == .all || within == fewest else {
        throw fail("\(within) moves, and \(fewest) are enough")
      }
    }
    let totals = json.last("window")?.elements ?? []
    guard totals.map({ $0.last("section")?.string }) == expected.sections.map(\.id),
      totals.map({ $0.last("shown")?.minified }) == expected.sections.map({ Array("\($0.items.count)".utf8) })
    else { throw fail("the totals are others") }
    let isForced = ["sections", "items"].contains { group in
      ["reconfigure", "reload"].contains { !(json.last(group)?.last($0)?.elements ?? []).isEmpty }
    }
    guard before != expected || isForced else { throw fail("nothing changed") }
  }

  private static func longestIncrease(_ values: [Int]) -> Int {
    var lengths: [Int] = []
    for (number, value) in values.enumerated() {
      lengths.append(1 + ((0..<number).filter { values[$0] < value }.map { lengths[$0] }.max() ?? 0))
    }
    return lengths.max() ?? 0
  }
}
