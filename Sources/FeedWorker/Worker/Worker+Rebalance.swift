import Diagnostics
import FeedKafka
import FeedStatus
import FeedStore
import FeedTransactions
import Kafka

/// Accepts partitions that the group assigns, and gives up revoked ones, as ``WorkerMachine`` decides.
extension Worker {
  /// Accepts assigned partitions; their input is not applied before their feeds are restored.
  ///
  /// - Parameter isSettled: whether no more partitions are expected: a member that has just joined may get some after
  ///   others have given them up.
  func take(_ partitions: [TopicPartition], isSettled: Bool) throws(KafkaError) {
    let assigned = machine.partitions.inputs
    log.write(
      .groupAssigned,
      "partitions assigned",
      ["partitions": Self.list(partitions), "all": assigned.count]
    )
    environment.status.assigned(assigned, to: identity.number, isSettled: isSettled)
    environment.backlog?.assign(assigned, to: identity.number)
    environment.backlog?.read(machine.positions.read, by: identity.number)
    onEvent(.assigned(partitions: partitions.count))
    try consumer.pause(partitions)
    restorer.begin(partitions)
    if !restorer.isRestoring, isSettled { restorer.reportRunning() }
  }

  /// Gives up partitions that this worker no longer owns. None of their changes may be pending.
  ///
  /// - Parameter gone: their input partitions.
  func giveUp(
    _ partitions: Set<Int32>,
    _ gone: [TopicPartition],
    isLost: Bool,
    _ store: isolated FeedStore
  ) throws(KafkaError) {
    log.write(
      isLost ? .groupLost : .groupRevoked,
      isLost ? "partitions lost" : "partitions revoked",
      ["partitions": Self.list(gone), "left": machine.partitions.inputs.count]
    )
    try restorer.leave(partitions, isConfirmed: !isLost, store)
    try drop(partitions, store)
    environment.status.released(partitions, by: identity.number)
    status.update { [content = store.content] in
      $0.rebalances[isLost ? .lost : .revoked, default: 0] += 1
      $0.content = content
    }
    if !gone.isEmpty { onEvent(.released) }
  }

  /// Drops the state of partitions, which are no longer owned, or for which it is unknown what is published.
  func drop(_ partitions: Set<Int32>, _ store: isolated FeedStore) throws(KafkaError) {
    for partition in partitions { store.drop(partition: partition) }
    batch.drop(partitions)
    try restorer.drop(partitions)
  }

  /// Continues reading the retained partitions from their next offsets.
  ///
  /// - Returns: whether the seek succeeded.
  func readOn(at positions: [TopicPartitionOffset]) -> Bool {
    succeeds(.inputResumeFailed, "could not resume reading after a rebalance; restoring feeds") {
      () throws(KafkaError) in
      try consumer.seek(positions, timeoutMilliseconds: Self.seekMilliseconds)
    }
  }

  /// The group has removed this member unnoticed, and may consider it the owner of partitions that others
  /// have owned meanwhile: it joins as a new member.
  func replaceConsumer() throws(KafkaError) {
    log.write(.groupEvicted, "the group removed this worker in the middle of a rebalance; joining again")
    try member.replace(closeMilliseconds: closeTime)
    try join()
  }

  static func list(_ partitions: [TopicPartition]) -> String {
    partitions.isEmpty ? "none" : partitions.map { "\($0.topic)/\($0.partition)" }.joined(separator: ",")
  }
}
