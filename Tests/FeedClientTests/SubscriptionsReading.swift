import ChangesetTestSupport
import Feed

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
      return record.key.withUnsafeBytes { key in
        guard let value = record.value else {
          return take(partition, offset: offset, key: ByteSpan(key), value: nil)
        }
        return value.withUnsafeBytes { value in
          take(partition, offset: offset, key: ByteSpan(key), value: ByteSpan(value)) {
            record.plan?.withUnsafeBytes { ChangesetPlan(ByteSpan($0), indexer: JSONIndexer()) }
          }
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
