import Changesets
package import Feed
package import FeedKafka
package import FeedStore
package import Kafka

/// Reads the changesets topic from its beginning and keeps a replica of every feed, as a service would. Also reads the
/// rejected topic. It belongs to one thread.
package final class Follower {
  private let changesets: PartitionReader<Consumer>
  private let rejected: PartitionReader<Consumer>
  private let planIndexer = JSONIndexer()
  private var partitions: [Int32: ReplicaPartition] = [:]
  /// The next offset to read of each partition.
  private var positions: [TopicPartition: Int64] = [:]

  private static let timeoutMilliseconds: Int32 = 10_000

  /// - Throws: errors of the brokers; the topics must exist.
  package init(
    _ settings: KafkaSettings,
    topics: TopicNames,
    log: @escaping KafkaLogHandler
  ) throws(KafkaError) {
    func reader(_ topic: String) throws(KafkaError) -> PartitionReader<Consumer> {
      PartitionReader(
        topic: topic,
        client: try Consumer(configuration: settings.reader, isolationLevel: .readCommitted, log: log)
      )
    }
    changesets = try reader(topics.changesets)
    rejected = try reader(topics.rejected)
    for reader in [changesets, rejected] {
      let metadata = try reader.client.metadata([reader.topic], timeoutMilliseconds: Self.timeoutMilliseconds)
      let numbers = 0..<(metadata.partitionCounts[reader.topic] ?? 0)
      for number in numbers { positions[reader.topicPartition(number)] = 0 }
      let beginning = TopicPartitionOffset.beginning
      try reader.add(Dictionary(uniqueKeysWithValues: numbers.map { ($0, beginning) }))
    }
  }

  /// Reads available records, waits if there are none, and reports each record.
  package func poll(timeoutMilliseconds: Int32, _ report: (FollowedRecord) -> Void) throws(KafkaError) {
    try poll(changesets, timeoutMilliseconds: timeoutMilliseconds) { report(follow($0)) }
    try poll(rejected, timeoutMilliseconds: 0) { report(Self.rejected($0)) }
  }

  private func poll(
    _ reader: PartitionReader<Consumer>,
    timeoutMilliseconds: Int32,
    _ take: (Message) -> Void
  ) throws(KafkaError) {
    let events = try reader.read(timeoutMilliseconds: timeoutMilliseconds) { message in
      take(message)
      positions[reader.topicPartition(message.partition)] = message.offset + 1
      return true
    }
    for (number, offset) in events?.ends ?? [:] {
      // The same poll may have returned later records.
      let partition = reader.topicPartition(number)
      positions[partition] = max(positions[partition] ?? 0, offset)
    }
    if let failure = events?.failure { throw failure }
  }

  private func follow(_ message: Message) -> FollowedRecord {
    let partition = message.partition
    let replicas = partitions[partition] ?? ReplicaPartition()
    partitions[partition] = replicas
    do {
      let key = message.key.map { ByteSpan($0) } ?? .empty
      return .changeset(
        partition: partition,
        try replicas.apply(key: key, value: message.payload.map { ByteSpan($0) }),
        message.header(ChangesetPlan.header).flatMap { ChangesetPlan(ByteSpan($0), indexer: planIndexer) }
      )
    } catch {
      return .unreadable(partition: partition, offset: message.offset, error)
    }
  }

  private static func rejected(_ message: Message) -> FollowedRecord {
    var headers: [String: String] = [:]
    for header in message.headers() {
      headers[header.name] = String(decoding: header.value ?? [], as: UTF8.self)
    }
    return .rejected(key: message.key.map { String(decoding: $0, as: UTF8.self) } ?? "", headers: headers)
  }

  /// The current ends of the topics.
  package func ends() throws(KafkaError) -> [TopicPartition: Int64] {
    var ends: [TopicPartition: Int64] = [:]
    for partition in positions.keys {
      ends[partition] = try changesets.client.queryWatermarks(
        partition,
        timeoutMilliseconds: Self.timeoutMilliseconds
      ).high
    }
    return ends
  }

  /// Whether everything before these offsets has been read.
  package func hasReached(_ ends: [TopicPartition: Int64]) -> Bool {
    ends.allSatisfy { (positions[$0.key] ?? 0) >= $0.value }
  }

  /// The current replicas, by partition and feed.
  package var summaries: [ReplicaSummary] {
    partitions.flatMap { partition, replicas in
      replicas.replicas.map { ReplicaSummary(partition: partition, $0) }
    }.sorted { ($0.partition, $0.feed) < ($1.partition, $1.feed) }
  }

  package func close() throws(KafkaError) {
    for reader in [changesets, rejected] {
      try reader.client.close(timeoutMilliseconds: Self.timeoutMilliseconds)
    }
  }
}

/// A record that a follower has read.
package enum FollowedRecord {
  /// A record of the changesets topic, its effect, and the planner's figures.
  case changeset(partition: Int32, ReplicaOutcome, ChangesetPlan?)
  /// A record of the changesets topic that is not valid.
  case unreadable(partition: Int32, offset: Int64, ReplicaFault)
  /// A record of the rejected topic, with the text of its headers by name.
  case rejected(key: String, headers: [String: String])
}

extension FollowedRecord {
  /// The record as a readable line; nil if there is nothing to show.
  ///
  /// ```
  /// 10:00:01.250  newsroom/home [0]  rev 12   diff               insert 2, move 1               1.3 kB
  /// ```
  package var text: String? {
    switch self {
    case .changeset(let partition, .applied(let change), let plan):
      FollowLine.text(of: change, in: partition, plan)
    case .changeset(let partition, .removed(let feed), _):
      FollowLine.text("", FollowLine.name(feed, in: partition), "", "delete", "the feed is gone")
    case .changeset(_, .gap(let replica, let base), _):
      FollowLine.text(
        "",
        "",
        "",
        "gap",
        "the changeset has base \(base), the replica revision \(replica ?? 0)"
      )
    case .changeset(_, .mismatch(let fault), _): FollowLine.text("", "", "", "MISMATCH", fault.message)
    case .changeset(_, .skipped, _), .changeset(_, .waitingForParts, _), .changeset(_, .otherEpoch, _): nil
    case .unreadable(let partition, let offset, let fault):
      FollowLine.text("", "", "", "UNREADABLE", "partition \(partition), offset \(offset): \(fault.message)")
    case .rejected(let key, let headers):
      FollowLine.text(
        "",
        key,
        "",
        "rejected",
        "\(headers["feedstore.error.code"] ?? "?"): \(headers["feedstore.error.message"] ?? "?")"
      )
    }
  }

  /// Whether the record violates the protocol.
  package var isFault: Bool {
    switch self {
    case .changeset(_, .gap, _), .changeset(_, .mismatch, _), .changeset(_, .otherEpoch, _), .unreadable: true
    case .changeset, .rejected: false
    }
  }
}

/// A replica's current state in numbers, to compare with the store's.
package struct ReplicaSummary: Sendable, Equatable {
  package var partition: Int32
  package var feed: String
  package var revision: UInt64
  package var sectionCount: Int
  package var itemCount: Int
  package var checksum: UInt32
  /// Whether it has missed changesets and waits for a reload.
  package var isStale: Bool

  init(partition: Int32, _ replica: Replica) {
    self.partition = partition
    feed = replica.feed
    revision = replica.revision
    sectionCount = replica.sectionCount
    itemCount = replica.itemCount
    checksum = replica.checksum
    isStale = replica.isStale
  }
}
