import ChangesetTestSupport
import Feed
import Kafka

@testable import FeedClient

extension Subscriptions {
  /// A board with one partition or more, opened as by the reader.
  static func opened(partitions: Set<Int32> = [0], bootstrapped: Bool = true) -> Subscriptions {
    let board = Subscriptions(partitions: nil)
    _ = board.takeRequest()
    board.open(partitions, beginnings: [:])
    if bootstrapped { for number in partitions { board.endPartition(number) } }
    return board
  }

  /// Applies records to a partition, as the reader does.
  @discardableResult
  func take(_ records: some Sequence<ChangesetSource.Record>, partition: Int32 = 0) -> [Taken] {
    records.map { record in
      let offset = positions[partition] ?? 0
      return record.withBytes { key, value in
        take(partition, offset: offset, key: ByteSpan(key), value: value.map { ByteSpan($0) }) {
          record.plan?.withUnsafeBytes { ChangesetPlan(ByteSpan($0), indexer: JSONIndexer()) }
        }
      }
    }
  }

  /// The number of pending updates of each subscriber.
  var waitingCounts: [Int] { locked { subscribers.values.map(\.mailbox.updateCount) } }

  func endPartition(_ number: Int32 = 0) {
    noteEnd(number, offset: positions[number] ?? 0)
    updateStanding()
  }

  func updates(
    of feeds: [String]? = nil,
    _ options: SubscriptionOptions = SubscriptionOptions()
  ) -> FeedUpdates {
    FeedUpdates(subscription: FeedSubscription(self, feeds: feeds, options))
  }
}

extension SubscriptionOptions {
  init(window: FeedWindow) {
    self.init()
    self.window = window
  }
}

extension ChangesetSource.Record {
  /// The same changeset with another revision.
  func revised(_ revision: Int) -> Self {
    let text = String(decoding: value ?? [], as: UTF8.self).replacing(
      /"revision":[0-9]+/,
      with: "\"revision\":\(revision)"
    )
    return Self(key: key, value: Array(text.utf8))
  }
}

extension FeedUpdate {
  /// A short description of the update.
  var summary: String {
    switch self {
    case .present(let content, let passedOver):
      "\(feed) present \(content.description.revision)" + (passedOver > 0 ? " for \(passedOver)" : "")
    case .changed(let changeset, _): "\(feed) \(changeset.change.mode.rawValue) \(changeset.change.revision)"
    case .mustRefetch: "\(feed) must refetch"
    case .absent: "\(feed) absent"
    }
  }
}

extension EmbeddedCluster {
  private static let topic = "feeds.changesets"

  static func forChangesets(partitions: Int32) throws -> EmbeddedCluster {
    let cluster = try EmbeddedCluster(log: { _, _, _ in })
    try cluster.createTopic(topic, partitions: partitions)
    return cluster
  }

  func client(partitions: Set<Int32>? = nil) -> FeedClient {
    let kafka: KafkaConfiguration = ["bootstrap.servers": bootstrapServers, "fetch.wait.max.ms": "20"]
    return FeedClient(
      FeedClientOptions(kafka: kafka, partitions: partitions),
      log: { _, _, _ in }
    )
  }

  func produce(_ records: [ChangesetSource.Record], partition: Int32 = 0) throws {
    let producer = try Producer(configuration: ["bootstrap.servers": bootstrapServers]) { _, _, _ in }
    for record in records {
      try record.withBytes { key, value in
        try producer.produce(
          topic: Self.topic,
          partition: partition,
          key: key,
          value: value,
          timestampMilliseconds: 1_795_168_800_000
        )
      }
    }
    try producer.flush(timeoutMilliseconds: 120_000)
    try producer.close(timeoutMilliseconds: 120_000)
  }
}

extension Subscriptions {
  func content(of feed: ByteText, in partition: Int32? = nil) -> FeedContent? {
    content(of: FeedAddress(partition, feed))
  }
}
