import FeedTransactions
import Kafka

/// Accepts partitions that the group assigns, and gives up revoked ones; the others are not affected.
///
/// A poll returns a rebalance, and the machine handles it between two flushes. Until then no partition delivers records.
extension WorkerMachine {
  private func numbers(of rebalance: Rebalance) -> Set<Int32> { Set(rebalance.partitions.map(\.partition)) }

  private var pendingRebalance: Rebalance {
    guard let rebalance else { preconditionFailure("there is no rebalance in state \(state)") }
    return rebalance
  }

  mutating func beginRebalance() -> WorkerAction {
    let rebalance = pendingRebalance
    switch rebalance.kind {
    case .assigned:
      return enter(.rebalancing(.accepting), .complete(rebalance))
    case .revoking:
      partitions.leave(numbers(of: rebalance))
      return checkLeaving(isSecond: false)
    case .lost: return discard()
    }
  }

  mutating func rebalance(
    _ event: WorkerEvent,
    at stage: WorkerState.RebalanceStage,
    _ now: Int64
  ) -> WorkerAction? {
    switch (stage, event) {
    case (.accepting, .done):
      return take(at: now)
    case (.taking, .done):
      return readOn()

    case (.checking(let isSecond), .pending(let isPending)):
      if !isPending { return giveUp() }
      if !isSecond, transactions.isReady { return flush(then: .checkLeavingAgain, at: now) }
      return discard()
    case (.givingUp, .done):
      let rebalance = pendingRebalance
      guard rebalance.needsNewConsumer else { return enter(.rebalancing(.completing), .complete(rebalance)) }
      // The group may consider this member the owner of partitions that others have owned meanwhile.
      return enter(.rebalancing(.replacing), .replaceConsumer)
    case (.completing, .done):
      rebalance = nil
      return readOn()

    case (.readingOn, .sought(let isDone)):
      return isDone ? loop() : restoreAgain(then: .loop)
    case (.replacing, .done):
      rebalance = nil
      return loop()
    default:
      return nil
    }
  }

  /// Continues after the attempt to publish the pending changes of leaving partitions.
  mutating func checkLeavingAgain() -> WorkerAction {
    // They may have been lost meanwhile.
    pendingRebalance.kind == .revoking ? checkLeaving(isSecond: true) : beginRebalance()
  }

  private mutating func checkLeaving(isSecond: Bool) -> WorkerAction {
    enter(.rebalancing(.checking(isSecond: isSecond)), .checkPending(of: numbers(of: pendingRebalance)))
  }

  /// Discards the pending changes, gives up the leaving partitions, and reads the input of the others again.
  private mutating func discard() -> WorkerAction {
    enter(.rollingBack(.giveUp, rewindsAlways: false), .rollBack(repeated: nil))
  }

  /// Gives up the partitions of the rebalance. None of their changes may be pending.
  mutating func giveUp() -> WorkerAction {
    let rebalance = pendingRebalance
    let numbers = numbers(of: rebalance)
    let gone = partitions.giveUp(numbers)
    positions.remove(numbers)
    rejoinTime = nil
    return enter(
      .rebalancing(.givingUp),
      .giveUp(numbers, inputs: gone, isLost: rebalance.kind == .lost)
    )
  }

  /// Accepts the assigned partitions; their input is not applied before their feeds are restored.
  private mutating func take(at now: Int64) -> WorkerAction {
    let rebalance = pendingRebalance
    self.rebalance = nil
    partitions.assign(rebalance.partitions)
    // A new member may be assigned partitions in a second step, after others have given them up.
    let isDoubtful = partitions.isEmpty && !hasRejoined
    rejoinTime = isDoubtful ? now + Self.rejoinMilliseconds : nil
    return enter(.rebalancing(.taking), .take(rebalance.partitions, isSettled: !isDoubtful))
  }

  /// Continues reading the retained partitions from their next offsets: librdkafka paused them, and may have
  /// dropped fetched records.
  private mutating func readOn() -> WorkerAction {
    enter(.rebalancing(.readingOn), .readOn(positions.next))
  }
}
