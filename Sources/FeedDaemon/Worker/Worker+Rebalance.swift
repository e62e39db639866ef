import FeedKafka
import FeedStore
import Kafka
import Service

/// Takes partitions that the group gives, and gives up those that it takes away; the others are not touched.
///
/// A rebalance is noted when a poll brings it, and dealt with between two flushes. Until then no record of any partition comes.
extension Worker {
  /// How long partitions that are revoked may be kept from the group, which waits for all its members.
  private static let leavingMilliseconds: Int64 = 10_000

  /// A poll has brought a rebalance.
  func note(_ rebalance: Rebalance) {
    self.rebalance = rebalance
    rebalanceTime = clock.milliseconds()
  }

  /// When to stop trying to publish what fails, in milliseconds of the monotonic clock.
  var publishingLimit: Int64 {
    switch rebalance?.kind {
    case .assigned?, nil: .max
    case .revoking?: rebalanceTime + Self.leavingMilliseconds
    // Somebody else may have the partitions already: the pending changes would be refused.
    case .lost?: rebalanceTime
    }
  }

  /// Deals with the rebalance that a poll has brought.
  func completeRebalance(_ store: isolated FeedStore) throws {
    guard let rebalance else { return }
    let partitions = Set(rebalance.partitions.map(\.partition))
    switch rebalance.kind {
    case .assigned:
      try complete(rebalance)
      try take(rebalance.partitions)
    case .revoking:
      status.update { $0.rebalances[.revoked, default: 0] += 1 }
      if partitions.contains(where: { store.isPublicationDue(of: $0) }) { try flush(store) }
      if partitions.contains(where: { store.isPublicationDue(of: $0) }) { try withdraw(store) }
      try giveUp(partitions, .groupRevoked, store)
      try complete(rebalance)
    case .lost:
      status.update { $0.rebalances[.lost, default: 0] += 1 }
      try withdraw(store)
      try giveUp(partitions, .groupLost, store)
      if rebalance.needsNewConsumer { return try replaceConsumer() }
      try complete(rebalance)
    }
    try readOn(store)
  }

  /// Discards the pending changes; the input of partitions that stay is read again.
  private func withdraw(_ store: isolated FeedStore) throws {
    guard store.isPublicationDue else { return }
    store.rollBack()
    try rewind(store)
  }

  private func complete(_ rebalance: Rebalance) throws(DaemonError) {
    do throws(KafkaError) {
      try consumer.complete(rebalance)
    } catch {
      throw DaemonError(error)
    }
    self.rebalance = nil
  }

  /// The partitions are ours; nothing of them is handed out before their feeds are restored.
  private func take(_ partitions: [TopicPartition]) throws {
    log.write(
      .groupAssigned,
      "partitions assigned",
      ["partitions": Self.list(partitions), "all": assigned.count + partitions.count]
    )
    assigned += partitions
    noteShare()
    // Whoever has just joined may be given something when others have given it up.
    let isSettled = rejoinTime == nil
    environment.status.assigned(assigned, to: identity.number, isSettled: isSettled)
    environment.backlog?.assign(assigned, to: identity.number)
    environment.backlog?.read(positions.read, by: identity.number)
    onEvent(.assigned(partitions: partitions.count))
    do {
      try beginRestoring(partitions)
    } catch {
      throw DaemonError(error)
    }
    if !restoration.isUnderWay, isSettled { tellRunning() }
  }

  /// The partitions are somebody else's from here on. Nothing of them may wait.
  private func giveUp(_ partitions: Set<Int32>, _ event: LogEvent, _ store: isolated FeedStore) throws {
    let gone = assigned.filter { partitions.contains($0.partition) }
    log.write(
      event,
      event == .groupLost ? "partitions lost" : "partitions revoked",
      ["partitions": Self.list(gone), "left": assigned.count - gone.count]
    )
    try leaveFollowed(partitions, isConfirmed: event == .groupRevoked, store)
    try drop(partitions, store)
    assigned.removeAll { partitions.contains($0.partition) }
    pausedMeanwhile.removeAll { partitions.contains($0.partition) }
    rejoinTime = nil
    environment.status.released(partitions, by: identity.number)
    status.update { [content = store.content] in $0.content = content }
    if !gone.isEmpty { onEvent(.released) }
  }

  /// Forgets the state of partitions: they are somebody else's, or it is not known what is published.
  func drop(_ partitions: Set<Int32>, _ store: isolated FeedStore) throws(DaemonError) {
    for partition in partitions { store.drop(partition: partition) }
    batch.drop(partitions)
    positions.remove(partitions)
    try dropRestoration(of: partitions)
  }

  /// Has the partitions that stay read on from where they are: librdkafka paused them, and may have thrown away what it
  /// counts as handed out.
  private func readOn(_ store: isolated FeedStore) throws {
    do throws(KafkaError) {
      try consumer.seek(positions.next, timeoutMilliseconds: Self.seekMilliseconds)
    } catch {
      log.write(
        .inputResumeFailed,
        "could not resume reading after a rebalance; restoring feeds",
        ["error": error]
      )
      try restoreAgain(store)
    }
  }

  /// The group has put this member out unnoticed, and may take it for the owner of partitions that others have had
  /// meanwhile: it joins as somebody new.
  private func replaceConsumer() throws {
    log.write(.groupEvicted, "the group removed this worker in the middle of a rebalance; joining again")
    rebalance = nil
    close(consumer)
    do throws(KafkaError) {
      consumer = try environment.clients.makeConsumer(memberSettings, log: log)
      batch = consumer.makeInput(capacity: Self.batchCapacity, clock: environment.coarseClock)
      idleBatch = consumer.makeInput(capacity: 1, clock: environment.coarseClock)
      reportStatistics()
      try join()
    } catch {
      throw DaemonError(error)
    }
  }

  static func list(_ partitions: [TopicPartition]) -> String {
    partitions.isEmpty ? "none" : partitions.map { "\($0.topic)/\($0.partition)" }.joined(separator: ",")
  }
}
