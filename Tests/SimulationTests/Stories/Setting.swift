import Feed
import FeedConfiguration
import FeedStore
import IngestTestSupport
import Oracle
import Settings

@testable import FeedWorker

/// What a story's daemons are configured with.
struct Setting: Equatable {
  /// Members that map the rows of tables (`feedstore ingest`); they come before those that publish.
  var ingesters = 0
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
  /// How long a changed content waits for others; nil if there are no contents.
  var contentsWindowMilliseconds: Int64?

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

  /// Has members map rows, and maybe fewer publish.
  mutating func ingest(_ random: inout SplitMix64) {
    ingesters = random.pick([1, 2, 2, 3])
    members = random.pick([1, 1, 2])
    standbyBytes = nil
    contentsWindowMilliseconds = random.pick([0, 100, 1_000])
  }

  var places: Int { ingesters + members }
  func ingests(_ place: Int) -> Bool { place < ingesters }

  var configuration: FeedStoreConfiguration {
    var configuration = FeedStoreConfiguration()
    configuration.store.coalescing.windowMilliseconds = windowMilliseconds
    configuration.store.coalescing.maxRecords = maxRecords
    configuration.store.keyframe.maxDeltas = keyframeDeltas
    configuration.store.planner.minimumItems = 0
    configuration.maxTransactionBytes = maxTransactionBytes
    configuration.standby.isEnabled = standbyBytes != nil
    configuration.standby.maxBytes = standbyBytes ?? 0
    if let contentsWindowMilliseconds {
      configuration.store.topics.contents = Self.contentsTopic
      configuration.store.contentsWindowMilliseconds = contentsWindowMilliseconds
    }
    if ingesters > 0 {
      configuration.ingest = Self.ingest
      configuration.store.topics.contents = Self.contentsTopic
    }
    return configuration
  }

  static func tables(seed: UInt64) -> TableScripts {
    TableScripts(
      [("rows.json", .json), ("rows.debezium", .debezium), ("rows.contents", .contents)],
      seed: seed
    )
  }

  private static let ingest: IngestOptions = {
    let assignments = ["ingest.sources=\(tables(seed: 0).sources)", "topics.contents=\(contentsTopic)"]
    do {
      return try ConfigurationSources(assignments: assignments).load().configuration.ingest
    } catch {
      preconditionFailure("\(error)")
    }
  }()

  static let contentsTopic = "feeds.contents"
  static let contentsPartitions: Int32 = 2

  static let ingestGroup = "ingest"

  func kafka(member: Int) -> [ConfigurationPair] {
    var pairs = [
      ConfigurationPair(name: "bootstrap.servers", value: "simulated"),
      ConfigurationPair(name: "transactional.id", value: "m\(member)"),
      ConfigurationPair(name: "group.id", value: ingests(member) ? Self.ingestGroup : "simulation"),
      ConfigurationPair(name: "max.poll.interval.ms", value: "30000"),
      ConfigurationPair(name: "session.timeout.ms", value: "6000"),
    ]
    if isStatic { pairs.append(ConfigurationPair(name: "group.instance.id", value: "m\(member)")) }
    return pairs
  }
}
