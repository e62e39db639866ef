/// Decides whether a member joins its group again at once, instead of a second later.
///
/// In an incremental rebalance a partition moves in two rounds: its owner gives it up after a first JoinGroup request of all
/// members, and its next owner gets it after a second one, for which the group waits for all members again. librdkafka 2.0.2
/// sends the second request at once only if the member has given something up. The others learn of the second round
/// from a heartbeat, and librdkafka lets a second pass after their first request. Until then the partition has no owner.
///
/// So a member that neither gains nor loses anything in a round takes it for the first of two, and joins again. If it was wrong,
/// one more round takes place, in which nothing moves. It waits a little before, and so does a member that gives something up:
/// a member that has not had its answer of the first round by then starts over, after that second. The round after that
/// never causes another, and for some time no other does, so members cannot have each other join without end.
package struct SecondJoin: Equatable {
  /// For at least so long after it has joined again a member does not do so once more.
  package static let pause = Duration.seconds(3)
  /// After slow rounds it is up to so long.
  package static let longestPause = Duration.seconds(60)
  /// How long others have to get their answers before a member joins again. No records come meanwhile.
  package static let delayMilliseconds: Int32 = 100
  /// The same, before a member gives something up, which has librdkafka join again. Shorter, as nobody reads meanwhile what is to
  /// move.
  package static let givingUpDelayMilliseconds: Int32 = 50

  /// When it last joined again, or gave something up and librdkafka did; nil if that was never.
  private var lastTime: Duration?
  /// Whether the next round is the one that it has joined again for.
  private var isSecond = false
  private var currentPause = Self.pause

  package init() {}

  /// Partitions were given up: librdkafka joins again by itself.
  ///
  /// - Parameter now: the time of a monotonic clock, as in `isDue`.
  package mutating func noteGivingUp(at now: Duration) {
    lastTime = now
    isSecond = true
  }

  /// The group has assigned so many partitions in addition, possibly none.
  ///
  /// - Returns: whether to join again.
  package mutating func isDue(gaining count: Int, at now: Duration) -> Bool {
    let sinceLast = lastTime.map { now - $0 }
    if isSecond, let sinceLast {
      isSecond = false
      // Otherwise, with slow rounds, members whose pauses end in turns might go on like that.
      currentPause = min(max(Self.pause, sinceLast * 10), Self.longestPause)
      return false
    }
    if let sinceLast, sinceLast < currentPause { return false }
    guard count == 0 else { return false }
    lastTime = now
    isSecond = true
    return true
  }
}
