import FeedKafka
import FeedStore
import Glibc
import Kafka
import Service

/// Does what is due by time, between two batches, and looks how far behind the input is.
extension Worker {
  private static let lagMilliseconds: Int64 = 1_000
  /// Much less than the least `offsets.retention.minutes` that makes sense.
  static let offsetRefreshMilliseconds: Int64 = 3_600_000

  /// Does what is due by time, when everything that was polled is applied.
  func look(_ store: isolated FeedStore) -> WorkerEvent {
    coverEnds(store)
    status.turn(waitingRecords: batch.taken.records)
    if backlog.isBehind {
      backlog.apply(unread: unread.count)
      store.noteBacklog(backlog.isBehind)
    }
    noteLag()
    remindOfStoppedPartitions()
    refreshOffsets(store)
    assert(
      Set(machine.partitions.inputs(.restoring).map(\.partition)) == restoration.underWay,
      "the machine and the restoration disagree"
    )
    return .looked(deadline: store.deadline, isStopping: stop.isRequested)
  }

  /// Has offsets committed once more now and then that have not changed: brokers forget those of topics that the group does
  /// not assign, and of a group's that nobody reads.
  private func refreshOffsets(_ store: isolated FeedStore) {
    let now = clock.milliseconds()
    guard now >= nextOffsetRefresh, !store.isPublicationDue, machine.transactions.isReady else { return }
    nextOffsetRefresh = now + Self.offsetRefreshMilliseconds
    for position in machine.positions.resume { cover(position, store) }
  }

  /// Tells the store whether the input is behind, after a poll that may have waited.
  func noteBacklog(of store: isolated FeedStore) {
    let now = clock.milliseconds()
    guard backlog.isDue(records: batch.count, at: now) else { return }
    let unread = unread
    backlog.poll(isEmpty: batch.isEmpty, unread: unread.count)
    store.noteBacklog(backlog.isBehind)
    if backlog.isBehind { keepFetching(unread.partitions) }
    if backlog.isMemoryReturnDue(at: now) { FreedMemory.giveBack() }
  }

  /// How many records no poll has brought yet, as far as the brokers have told, and of which partitions.
  private var unread: (count: Int64, partitions: [TopicPartition]) {
    var count: Int64 = 0
    var partitions: [TopicPartition] = []
    for (partition, offset) in machine.positions.read {
      guard let end = consumer.knownEnd(of: partition), end > offset else { continue }
      count += end - offset
      partitions.append(partition)
    }
    return (count, partitions)
  }

  /// Has fetching go on as soon as the queue of fetched records is half empty, and not a second later.
  private func keepFetching(_ partitions: [TopicPartition]) {
    if KafkaSettings.noticesRoom || partitions.isEmpty { return }
    guard let partition = backlog.wake(fetched: consumer.fetchedCount, of: partitions) else { return }
    consumer.wakeFetcher(of: partition)
  }

  /// Tells, once a second, how many input records are not published yet, as far as the brokers have told.
  private func noteLag() {
    let now = clock.milliseconds()
    guard now >= nextLagTime else { return }
    nextLagTime = now + Self.lagMilliseconds
    var lag: [TopicPartition: Int64] = [:]
    for position in machine.positions.resume {
      guard let end = consumer.knownEnd(of: position.topicPartition) else { continue }
      lag[position.topicPartition] = max(0, end - position.offset)
    }
    environment.status.lags(lag, of: identity.number)
    // What it tells of itself would wait in its queue as long as nothing is published.
    _ = try? producer.poll(timeoutMilliseconds: 0)
  }
}
