import Feed
import FeedConfiguration
import FeedStore
import Oracle
import Service

@testable import FeedWorker

/// What a story's daemons are configured with.
struct Setting: Equatable {
  /// Whether the members map rows (`feedstore ingest`).
  var isIngesting = false
  var members = 2
  var partitions: Int32 = 2
  /// Whether members have names for good.
  var isStatic = false
  var windowMilliseconds: Int64 = 100
  var maxRecords = 10_000
  var maxTransactionBytes = 67_108_864
  var keyframeDeltas = 1_000
  var queueCapacity = 100_000
  /// Whether some input is written in transactions, and some of them are aborted.
  var hasInputTransactions = false
  /// How long a record takes to be applied.
  var recordMicroseconds: Int64 = 20
  /// How long a marker takes to be written, at most.
  var markerMicroseconds: Int64 = 2_000
  /// How much state members may follow of partitions that are others'; nil if they follow none.
  var standbyBytes: Int?

  init() {}

  init(_ random: inout SplitMix64) {
    members = random.pick([1, 2, 2, 3, 3])
    partitions = random.pick([1, 2, 3, 4])
    isStatic = random.chance(25)
    windowMilliseconds = random.pick([0, 20, 100, 100, 400])
    maxRecords = random.pick([3, 10_000])
    maxTransactionBytes = random.pick([1, 2_000, 67_108_864, 67_108_864])
    keyframeDeltas = random.pick([1, 4, 1_000])
    queueCapacity = random.pick([1, 3, 20, 100_000])
    hasInputTransactions = random.chance(30)
    recordMicroseconds = random.pick([20, 20, 2_000, 100_000])
    markerMicroseconds = random.pick([500, 2_000, 20_000, 300_000])
  }

  var configuration: FeedStoreConfiguration {
    var configuration = FeedStoreConfiguration()
    configuration.store.coalescing.windowMilliseconds = windowMilliseconds
    configuration.store.coalescing.maxRecords = maxRecords
    configuration.store.keyframe.maxDeltas = keyframeDeltas
    configuration.store.planner.minimumItems = 0
    configuration.maxTransactionBytes = maxTransactionBytes
    configuration.standby.isEnabled = standbyBytes != nil
    configuration.standby.maxBytes = standbyBytes ?? 0
    if isIngesting {
      // The item's id is the feed's, and its data the whole row, which has a number of its own.
      configuration.ingest = Self.ingest
    }
    return configuration
  }

  static let rows = "rows"
  private static let ingest: IngestOptions = {
    let source = #"[{topic: "\#(rows)", format: "json", feed: "{key}", section: "s", item: "{key}"}]"#
    do {
      return try ConfigurationSources(assignments: ["ingest.sources=\(source)"]).load().configuration.ingest
    } catch {
      preconditionFailure("\(error)")
    }
  }()

  func kafka(member: Int) -> [ConfigurationPair] {
    var pairs = [
      ConfigurationPair(name: "bootstrap.servers", value: "simulated"),
      ConfigurationPair(name: "transactional.id", value: "m\(member)"),
      ConfigurationPair(name: "group.id", value: "simulation"),
      ConfigurationPair(name: "max.poll.interval.ms", value: "30000"),
      ConfigurationPair(name: "session.timeout.ms", value: "6000"),
    ]
    if isStatic { pairs.append(ConfigurationPair(name: "group.instance.id", value: "m\(member)")) }
    return pairs
  }
}
