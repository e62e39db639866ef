@testable import Kafka

/// What a consumer knows of its place in the group.
struct GroupMember {
  /// The topic that the group assigns, and those whose partitions go along.
  var topics: [String] = []
  var companions: [String] = []
  /// Empty as long as the group has given none.
  var memberID = ""
  var generation: Int32 = -1
  var needsToJoin = false
  /// When it may join again, in microseconds, and whether it need not wait for that.
  var nextJoin: Int64 = 0
  var joinsAtOnce = false
  var secondJoin = SecondJoin()
  /// Whether the group has put the member out since it got what it holds.
  var isLost = false
  /// Whether that was while a rebalance was dealt with.
  var wasInRebalance = false
  var isFenced = false
  /// When the coordinator was heard of, and the owner was, in microseconds.
  var lastAnswer: Int64 = 0
  var lastPoll: Int64 = 0
  var changed: Signal?
}
