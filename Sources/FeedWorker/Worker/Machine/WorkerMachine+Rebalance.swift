import FeedTransactions
import Kafka

/// Takes partitions that the group gives, and gives up those that it takes away; the others are not touched.
///
/// A rebalance is noted when a poll brings it, and dealt with between two flushes. Until then no record of any partition comes.
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
      return enter(.rebalancing(.reporting), .report(.revoking))
    case .lost:
      return enter(.rebalancing(.reporting), .report(.lost))
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

    case (.reporting, .done) where pendingRebalance.kind == .revoking: return checkLeaving(isSecond: false)
    case (.reporting, .done): return discard()
    case (.checking(let isSecond), .pending(let isPending)):
      if !isPending { return giveUp() }
      if !isSecond, transactions.isReady { return flush(then: .checkLeavingAgain, at: now) }
      return discard()
    case (.givingUp, .done):
      let rebalance = pendingRebalance
      guard rebalance.needsNewConsumer else { return enter(.rebalancing(.completing), .complete(rebalance)) }
      // The group may take this member for the owner of partitions that others have had meanwhile.
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

  /// What was pending of leaving partitions is published, or could not be.
  mutating func checkLeavingAgain() -> WorkerAction {
    // They may have been lost meanwhile.
    pendingRebalance.kind == .revoking ? checkLeaving(isSecond: true) : beginRebalance()
  }

  private mutating func checkLeaving(isSecond: Bool) -> WorkerAction {
    enter(.rebalancing(.checking(isSecond: isSecond)), .checkPending(of: numbers(of: pendingRebalance)))
  }

  /// Discards the pending changes, and gives up the partitions that go; the input of those that stay is read again.
  private mutating func discard() -> WorkerAction {
    enter(.rollingBack(.giveUp, rewindsAlways: false), .rollBack(repeated: nil))
  }

  /// This worker does not own the partitions any more. Nothing of them may be pending.
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

  /// The partitions are ours; nothing of them is handed out before their feeds are restored.
  private mutating func take(at now: Int64) -> WorkerAction {
    let rebalance = pendingRebalance
    self.rebalance = nil
    partitions.assign(rebalance.partitions)
    // A member that has just joined may be given partitions in a second step, when others have given them up.
    let isDoubtful = partitions.isEmpty && !hasRejoined
    rejoinTime = isDoubtful ? now + Self.rejoinMilliseconds : nil
    return enter(.rebalancing(.taking), .take(rebalance.partitions, isSettled: !isDoubtful))
  }

  /// Has the partitions that stay read on from where they are: librdkafka paused them, and may have thrown away what it
  /// counts as handed out.
  private mutating func readOn() -> WorkerAction {
    enter(.rebalancing(.readingOn), .readOn(positions.next))
  }
}
