import CRdkafka

/// Incremental rebalances, which do not interrupt partitions that stay.
///
/// librdkafka allows the application to return from its callback and change the assignment later; heartbeats keep the
/// member in the group meanwhile. It pauses all partitions before the callback, and resumes them with the change.
extension Consumer {
  /// librdkafka's rebalance callback. It runs on the consumer's thread, inside `poll` or `close`.
  func rebalance(
    _ code: rd_kafka_resp_err_t,
    _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
  ) {
    guard let client = try? client("rebalance") else { return }
    // Earlier rebalances are obsolete.
    (delayedRebalance, joinsAgain) = (nil, false)
    let partitions = withCompanions(list.map { TopicPartitionList.partitions(of: $0) } ?? [])
    // Makes a blocked poll return.
    defer { rd_kafka_queue_yield(queue) }
    let rebalance: Rebalance
    switch code {
    case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
      hasBeenAssigned = true
      rebalance = Rebalance(.assigned, partitions)
    case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
      rebalance = Rebalance(rd_kafka_assignment_lost(client) != 0 ? .lost : .revoking, partitions)
    default:
      note(.make(KafkaErrorCode(code), "rebalance the group", client: client))
      rebalance = Rebalance(.lost, partitions)
    }
    if isClosing {
      do throws(KafkaError) { try perform(rebalance, client) } catch { note(error) }
      return
    }
    let id = rd_kafka_memberid(client).map { text in
      defer { rd_kafka_mem_free(client, text) }
      return String(cString: text)
    }
    if held.isEmpty {
      memberID = id
    } else if rebalance.kind != .lost, id != memberID {
      pendingRebalance = Rebalance(.lost, Array(held), needsNewConsumer: true)
      return
    }
    joinsAgain = rebalance.kind == .assigned && secondJoin.isDue(gaining: partitions.count, at: now)
    switch rebalance.kind {
    case .assigned where joinsAgain: delay(rebalance, SecondJoin.delayMilliseconds)
    case .revoking: delay(rebalance, SecondJoin.givingUpDelayMilliseconds)
    default: pendingRebalance = rebalance
    }
  }

  /// Delays the return of a rebalance by polls.
  private func delay(_ rebalance: Rebalance, _ milliseconds: Int32) {
    delayedRebalance = (rebalance, Deadline(milliseconds: milliseconds))
    pendingRebalance = nil
  }

  /// The time since the consumer was created.
  var now: Duration { start.duration(to: .now) }

  /// Makes a poll return the delayed rebalance, if there is one.
  func endDelay() {
    guard let (rebalance, _) = delayedRebalance else { return }
    delayedRebalance = nil
    pendingRebalance = rebalance
  }

  /// The milliseconds that a poll with this timeout may wait.
  func timeUntilDelayEnds(_ timeoutMilliseconds: Int32) -> Int32 {
    min(timeoutMilliseconds, delayedRebalance?.until.remainingMilliseconds ?? timeoutMilliseconds)
  }

  /// Completes a rebalance. Assigned partitions can be sought and read from now on; records of revoked or lost
  /// partitions are no longer delivered.
  ///
  /// - Parameter rebalance: the last poll's rebalance.
  /// - Throws: an error with the partitions, after which the consumer is unusable.
  public func complete(_ rebalance: Rebalance) throws(KafkaError) {
    let client = try client("complete a rebalance")
    precondition(rebalance == pendingRebalance, "\(rebalance) is completed already")
    precondition(!rebalance.needsNewConsumer, "a rebalance that needs a new consumer is completed")
    pendingRebalance = nil
    try perform(rebalance, client)
  }

  private func perform(_ rebalance: Rebalance, _ client: OpaquePointer) throws(KafkaError) {
    switch rebalance.kind {
    case .assigned:
      if joinsAgain { try joinAgain(client) }
      try take(rebalance.partitions, client)
    case .revoking, .lost:
      secondJoin.noteGivingUp(at: now)
      try giveUp(rebalance.partitions.filter { held.contains($0) }, client)
    }
  }

  /// The group assigns the partitions of one topic. Each member also reads the partitions with the same numbers of the
  /// companion topics.
  private func withCompanions(_ partitions: [TopicPartition]) -> [TopicPartition] {
    partitions
      + companions.flatMap { topic in
        partitions.map { TopicPartition(topic: topic, partition: $0.partition) }
      }
  }

  /// Makes librdkafka join the group again after the current rebalance, as it does for any subscription during a rebalance.
  private func joinAgain(_ client: OpaquePointer) throws(KafkaError) {
    joinsAgain = false
    if !subscription.isEmpty { try subscribe(subscription, client) }
  }

  private func take(_ partitions: [TopicPartition], _ client: OpaquePointer) throws(KafkaError) {
    let start = assignmentStart ?? Int64(RD_KAFKA_OFFSET_INVALID)
    let list = TopicPartitionList(partitions.map { TopicPartitionOffset($0, offset: start) })
    let topics = assignmentStart == nil ? [] : pauseAhead(of: partitions, client)
    defer { for topic in topics { rd_kafka_topic_destroy(topic) } }
    let error = rd_kafka_incremental_assign(client, list.pointer)
    try KafkaError.check(error, "take the partitions \(partitions)")
    held.formUnion(partitions)
  }

  private func giveUp(_ partitions: [TopicPartition], _ client: OpaquePointer) throws(KafkaError) {
    forgetPauses(of: pausedPartitions.intersection(partitions), client)
    let list = TopicPartitionList(partitions)
    held.subtract(partitions)
    let error = rd_kafka_incremental_unassign(client, list.pointer)
    try KafkaError.check(error, "give up the partitions \(partitions)")
  }

  /// Pauses partitions before they are assigned. Otherwise, between the assignment and a pause, librdkafka may fetch at
  /// the placeholder start offset. If the broker's log starts later, it answers "out of range", and the partition is
  /// not read and cannot be sought until the next assignment.
  ///
  /// librdkafka keeps a pause of any partition that it knows, assigned or not. It knows a partition through its topic.
  ///
  /// - Returns: the topic handles. Destroy them after the assignment, which then holds its own references.
  private func pauseAhead(of partitions: [TopicPartition], _ client: OpaquePointer) -> [OpaquePointer] {
    let topics = Set(partitions.map(\.topic)).compactMap { rd_kafka_topic_new(client, $0, nil) }
    let left = pause(unassigned: partitions, client)
    if left.isEmpty { return topics }
    for topic in topics {
      var metadata: UnsafePointer<rd_kafka_metadata>?
      // If the metadata does not arrive in time, the owner pauses the partition right after the assignment.
      if rd_kafka_metadata(client, 0, topic, &metadata, Self.metadataMilliseconds)
        == RD_KAFKA_RESP_ERR_NO_ERROR
      {
        rd_kafka_metadata_destroy(metadata)
      }
    }
    _ = pause(unassigned: left, client)
    return topics
  }

  /// - Returns: the partitions that librdkafka does not know.
  private func pause(unassigned partitions: [TopicPartition], _ client: OpaquePointer) -> [TopicPartition] {
    let list = TopicPartitionList(partitions)
    guard rd_kafka_pause_partitions(client, list.pointer) == RD_KAFKA_RESP_ERR_NO_ERROR else {
      return partitions
    }
    let unknown = partitions.indices.filter {
      list.pointer.pointee.elems[$0].err != RD_KAFKA_RESP_ERR_NO_ERROR
    }
    let left = unknown.map { partitions[$0] }
    pausedPartitions.formUnion(Set(partitions).subtracting(left))
    return left
  }

  private static let metadataMilliseconds: Int32 = 1_000
}

/// A change of the partitions that a group assigns to a member.
///
/// A poll returns it, and the owner completes it with `Consumer.complete` when it is ready. Until then the group waits
/// for this member, and no records of its partitions are delivered.
public struct Rebalance: Sendable, Hashable {
  public enum Kind: Sendable, Hashable {
    /// Adds partitions, possibly none; other partitions stay. They belong to this member once the rebalance is
    /// completed.
    case assigned
    /// Removes partitions. Their records can still be published and committed before the rebalance is
    /// completed.
    case revoking
    /// Partitions were lost and may have another owner. Uncommitted offsets can no longer be committed.
    case lost
  }

  public let kind: Kind
  public let partitions: [TopicPartition]
  /// Whether the group has removed the member and admitted it again without notice, so that the group's view of its
  /// partitions is unreliable. All its partitions are lost, and the consumer must be replaced.
  public let needsNewConsumer: Bool

  init(_ kind: Kind, _ partitions: [TopicPartition], needsNewConsumer: Bool = false) {
    self.kind = kind
    self.partitions = partitions
    self.needsNewConsumer = needsNewConsumer
  }
}

/// Decides whether a member joins its group again at once, instead of a second later.
///
/// In an incremental rebalance a partition moves in two rounds: its owner gives it up after a first JoinGroup request of all
/// members, and its next owner gets it after a second one, for which the group waits for all members again. librdkafka 2.0.2
/// sends the second request at once only if the member has given up partitions. The other members learn of the second round
/// from a heartbeat, and send it a second after their first request. Until then the partition has no owner.
///
/// So a member without a change in a round treats it as the first of two, and joins again. If it was wrong, one more round takes
/// place without a change. It waits briefly before that, and so does a member that gives up partitions: a member without the
/// first round's answer by then starts over, a second later. The round after that never causes another, and for some time no
/// other round does, so members cannot make each other join endlessly.
///
/// A static member also joins again after its first assignment. When a process returns, the broker answers with the assignment of
/// the last round. If the former process ended between giving up partitions and joining again, nothing else would cause the
/// second round, and these partitions would never have an owner.
package struct SecondJoin: Equatable {
  /// The minimum time between two such joins of a member.
  package static let pause = Duration.seconds(3)
  /// The maximum of that time, after slow rounds.
  package static let longestPause = Duration.seconds(60)
  /// The time for other members to receive their answers before a member joins again. No records arrive
  /// meanwhile.
  package static let delayMilliseconds: Int32 = 100
  /// The same before a member gives up partitions, after which librdkafka joins again. Shorter, because no member reads the moving
  /// partitions meanwhile.
  package static let givingUpDelayMilliseconds: Int32 = 50

  /// The time of the last such join, or of librdkafka's after giving up partitions; nil before the first.
  private var lastTime: Duration?
  /// Whether the next round is the result of such a join.
  private var isSecond = false
  private var currentPause = Self.pause
  private let isStatic: Bool

  /// - Parameter isStatic: whether the member has a `group.instance.id`.
  package init(isStatic: Bool) { self.isStatic = isStatic }

  /// Partitions were given up: librdkafka joins again by itself.
  ///
  /// - Parameter now: the time of a monotonic clock, as in `isDue`.
  package mutating func noteGivingUp(at now: Duration) {
    lastTime = now
    isSecond = true
  }

  /// Handles an assignment with this many additional partitions, possibly none.
  ///
  /// - Returns: whether to join again.
  package mutating func isDue(gaining count: Int, at now: Duration) -> Bool {
    let sinceLast = lastTime.map { now - $0 }
    if isSecond, let sinceLast {
      isSecond = false
      // With slow rounds and a constant pause, members could alternate endlessly.
      currentPause = min(max(Self.pause, sinceLast * 10), Self.longestPause)
      return false
    }
    if let sinceLast, sinceLast < currentPause { return false }
    guard count == 0 || isStatic && lastTime == nil else { return false }
    lastTime = now
    isSecond = true
    return true
  }
}
