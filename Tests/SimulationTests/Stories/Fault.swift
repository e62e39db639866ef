import SimulationSupport

/// Something that happens to a cluster or to a daemon.
enum Fault: Equatable, CustomStringConvertible {
  case kill(member: Int, restartAfter: Int64)
  case stop(member: Int, restartAfter: Int64)
  case pause(member: Int, milliseconds: Int64)
  /// The group puts the member out that is at this place in its list.
  case expire(Int)
  case brokerDies(Int, milliseconds: Int64)
  case groupMoves
  case transactionsMove
  case leaderMoves(topic: String, partition: Int32, staleMilliseconds: Int64)
  case request(RequestKind, Fate)
  case seeksFail(Int)
  case compaction

  var description: String {
    switch self {
    case .kill(let member, let milliseconds):
      "member \(member) is killed, and started again after \(milliseconds) ms"
    case .stop(let member, let milliseconds):
      "member \(member) is stopped, and started again after \(milliseconds) ms"
    case .pause(let member, let milliseconds): "member \(member) stands still for \(milliseconds) ms"
    case .expire(let place): "the group puts out member \(place) of its list"
    case .brokerDies(let broker, let milliseconds): "broker \(broker) is away for \(milliseconds) ms"
    case .groupMoves: "the group's coordinator moves"
    case .transactionsMove: "the transactions' coordinator moves"
    case .leaderMoves(let topic, let partition, let milliseconds):
      "the lead of \(topic) [\(partition)] moves; who had it does not know for \(milliseconds) ms"
    case .request(let kind, let fate): "the next \(kind.rawValue) is \(fate)"
    case .seeksFail(let count): "the next \(count) seeks fail"
    case .compaction: "the changesets are compacted"
    }
  }
}
