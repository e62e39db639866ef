import ChangesetTestSupport
import Feed
import FeedConfiguration
import Kafka
import Oracle
import Synchronization

@testable import FeedClient
@testable import FeedHTTP
@testable import FeedStatus

/// A changesets topic of two partitions, a client that follows it step by step, and the streams of its feeds.
final class StreamedTopic {
  /// A revision of a feed.
  struct Version: Hashable {
    let feed: String
    let epoch: String
    let revision: UInt64
  }

  let streams: FeedStreams
  /// The content of each feed after all records.
  private(set) var feeds: [String: OracleFeed] = [:]
  /// The content of each feed at each revision.
  private(set) var versions: [Version: OracleFeed] = [:]

  private let client = FeedClient(FeedClientOptions(kafka: [:], topic: "t")) { _, _, _ in }
  private let moved = MovedFeeds()
  private let served = SharedPartitions()
  private let sources = [ChangesetSource(maxDeltas: 20), ChangesetSource(maxDeltas: 20)]
  private var generators: [RecordGenerator]
  private var records: [[ChangesetSource.Record]] = [[], []]
  private var positions = [0, 0]
  private var subscription = 0

  private final class SharedPartitions: Sendable {
    let value = Mutex(ServedPartitions())
  }

  init(seed: UInt64, _ limits: HTTPOptions) {
    var options = GeneratorOptions()
    options.badPercent = 0
    options.partitionCount = 1
    options.isPlain = true
    options.feedCount = 2
    if seed.isMultiple(of: 2) { options.addOrders() }
    generators = (0..<2).map { RecordGenerator(seed: seed &* 2 &+ $0, options: options) }
    let reloads = ReloadCache(client, keptLimit: 100_000, limit: .max)
    let feeds = ServedFeeds(client: client, reloads: reloads, moved: moved) { [served] in
      served.value.withLock { $0 }
    }
    streams = FeedStreams(feeds, limits)
    assign([0, 1])
    open()
  }

  // MARK: Records

  /// Appends the changesets of some random records.
  func produce(_ count: Int, _ random: inout SplitMix64) async throws {
    for _ in 0..<count {
      let partition = random.below(2)
      guard let record = generators[partition].records(1).first else { continue }
      let key = "\(partition)" + String(decoding: record.key ?? [], as: UTF8.self)
      try await append(key, record.value.map { String(decoding: $0, as: UTF8.self) })
    }
  }

  /// Appends a reload of each feed.
  func reload() async throws {
    for feed in feeds.keys.sorted() { try await append(feed, "{\"op\":\"feed.reload\"}") }
  }

  private func append(_ feed: String, _ value: String?) async throws {
    let partition = feed.hasPrefix("0") ? 0 : 1
    for record in try await sources[partition].flush((feed, value)) {
      records[partition].append(record)
      guard let value = record.value else { continue }
      let json = try OracleJSON.parse(value)
      let version = json.version
      feeds[version.feed] = try NaiveReplica.apply([json], to: feeds[version.feed])
      versions[version] = feeds[version.feed]
    }
  }

  // MARK: Following

  /// Reads some records, and marks the ends of completely read partitions.
  ///
  /// - Parameter loses: whether one of them is lost.
  func read(_ count: Int, loses: Bool = false) {
    var loses = loses
    for partition in client.partitions.map({ Int($0.number) }) {
      for _ in 0..<min(count, records[partition].count - positions[partition]) {
        let offset = positions[partition]
        positions[partition] += 1
        if loses {
          loses = false
          continue
        }
        records[partition][offset].withBytes { key, value in
          _ = client.subscriptions.take(
            Int32(partition),
            offset: Int64(offset),
            key: ByteSpan(key),
            value: value.map { ByteSpan($0) }
          )
        }
      }
      if positions[partition] == records[partition].count {
        client.subscriptions.noteEnd(Int32(partition), offset: Int64(positions[partition]))
      }
    }
    client.subscriptions.updateStanding()
  }

  /// Delivers some updates.
  func deliver(_ count: Int = .max) {
    for _ in 0..<count {
      guard case .update(let update) = client.subscriptions.next(for: subscription) else { return }
      streams.deliver(update)
    }
  }

  /// Sends the states for which clients have room.
  func sendStates() { for size in StreamDelivery.StateSize.allCases { streams.sendStates(size) } }

  /// Follows exactly these partitions, as after a rebalance.
  func assign(_ partitions: Set<Int32>) {
    served.value.withLock { served in
      served.assign(partitions, to: 0)
      served.restore(partitions, by: 0)
    }
    let gone = Set(client.partitions.map(\.number)).subtracting(partitions)
    moved.remove(partitions)
    let feeds = client.feeds().filter { gone.contains($0.partition) && $0.standing != .bootstrapping }
      .map { (feed: ByteText($0.feed), partition: $0.partition) }
    moved.add(feeds)
    streams.move(feeds) { _ in nil }
    for partition in partitions where !client.partitions.contains(where: { $0.number == partition }) {
      positions[Int(partition)] = 0
    }
    client.subscriptions.open(partitions, beginnings: [:])
  }

  /// The client fails, and begins again.
  func fail() {
    let partitions = Set(client.partitions.map(\.number))
    client.subscriptions.finish(.failed(FeedClientError(.kafka, "test")))
    client.reset()
    streams.feeds.reloads.removeAll()
    streams.reset(reason: "the follower failed")
    positions = [0, 0]
    open()
    client.subscriptions.open(partitions, beginnings: [:])
  }

  private func open() {
    // A limit with which some feeds are delivered as their states.
    let options = SubscriptionOptions(maximumUpdates: 6, hasSnapshots: false, hasDifferences: false)
    subscription = client.subscriptions.subscribe(to: nil, options)
  }

  /// The place of a feed; nil if it is not served.
  func address(of feed: String) -> FeedAddress? {
    guard case .here(let description) = streams.feeds.location(of: ByteText(feed)) else { return nil }
    return FeedAddress(description.partition, ByteText(feed))
  }
}

extension OracleJSON {
  func text(_ name: String) -> String { String(decoding: last(name)?.string ?? [], as: UTF8.self) }

  func number(_ name: String) -> Int {
    last(name).flatMap { Int(String(decoding: $0.minified, as: UTF8.self)) } ?? -1
  }

  var version: StreamedTopic.Version {
    StreamedTopic.Version(
      feed: text("feed"),
      epoch: text("epoch"),
      revision: UInt64(max(0, number("revision")))
    )
  }
}
