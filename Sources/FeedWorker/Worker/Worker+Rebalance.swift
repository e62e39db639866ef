import FeedKafka
import FeedStatus
import FeedStore
import FeedTransactions
import Kafka
import Service

/// Takes partitions that the group gives, and gives up those that it takes away, as ``WorkerMachine`` says.
extension Worker {
  /// The partitions are ours; nothing of them is handed out before their feeds are restored.
  ///
  /// - Parameter isSettled: whether no more of them are expected: a member that has just joined may get some when others
  ///   have given it up.
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

  /// This worker does not own the partitions any more. Nothing of them may be pending.
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
    status.update { [content = store.content] in $0.content = content }
    if !gone.isEmpty { onEvent(.released) }
  }

  /// Forgets the state of partitions: they are not owned any more, or it is unknown what is published.
  func drop(_ partitions: Set<Int32>, _ store: isolated FeedStore) throws(KafkaError) {
    for partition in partitions { store.drop(partition: partition) }
    batch.drop(partitions)
    try restorer.drop(partitions)
  }

  /// Has the partitions that stay read on from where they are.
  ///
  /// - Returns: whether that has succeeded.
  func readOn(at positions: [TopicPartitionOffset]) -> Bool {
    do throws(KafkaError) {
      try consumer.seek(positions, timeoutMilliseconds: Self.seekMilliseconds)
      return true
    } catch {
      log.write(
        .inputResumeFailed,
        "could not resume reading after a rebalance; restoring feeds",
        ["error": error]
      )
      return false
    }
  }

  /// The group has put this member out unnoticed, and may take it for the owner of partitions that others have had
  /// meanwhile: it joins as a new member.
  func replaceConsumer() throws(KafkaError) {
    log.write(.groupEvicted, "the group removed this worker in the middle of a rebalance; joining again")
    try member.replace(closeMilliseconds: closeTime)
    try join()
  }

  static func list(_ partitions: [TopicPartition]) -> String {
    partitions.isEmpty ? "none" : partitions.map { "\($0.topic)/\($0.partition)" }.joined(separator: ",")
  }
}
