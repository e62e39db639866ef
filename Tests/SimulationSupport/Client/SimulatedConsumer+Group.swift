@testable public import Kafka

/// How a consumer is a member of its group.
extension SimulatedConsumer {
  private static let heartbeat: Int64 = 3_000_000
  /// librdkafka lets so much time pass between two requests to join.
  private static let joinInterval: Int64 = 1_000_000

  var group: GroupCoordinator { cluster.group(options.group) }
  var place: Place { .group(options.group) }

  /// Joins the group; partitions come with polls.
  ///
  /// - Parameter companions: topics whose partitions go with those of the same number.
  public func subscribe(_ topics: [String], companions: [String] = []) throws(KafkaError) {
    spend()
    if isGone { throw error(.closed, "subscribe", fatal: true) }
    membership.topics = topics
    membership.companions = companions
    membership.needsToJoin = true
    membership.lastPoll = simulator.now
    if let changed = membership.changed { return changed.notify() }
    membership.changed = Signal(simulator)
    simulator.spawn(process) { [self] in takePart() }
    simulator.spawn(process) { [self] in keepMembership() }
  }

  /// Which member of which generation it is.
  public func groupMembership() throws(KafkaError) -> SimulatedMembership {
    spend()
    if isGone { throw error(.closed, "groupMembership", fatal: true) }
    if membership.isLost, !positions.isEmpty { throw error(.unknownMember, "groupMembership") }
    return SimulatedMembership(
      memberID: membership.memberID,
      generation: membership.generation,
      group: options.group
    )
  }

  private func holds(_ topics: [String]) -> [TopicPartition] {
    positions.map(\.partition).filter { topics.contains($0.topic) }
  }

  private func withCompanions(_ partitions: some Sequence<TopicPartition>) -> [TopicPartition] {
    partitions.flatMap { partition in
      [partition] + membership.companions.map { TopicPartition(topic: $0, partition: partition.partition) }
    }
  }

  /// Leaves the group; what it holds is revoked first.
  public func unsubscribe() throws(KafkaError) {
    spend()
    if isGone { throw error(.closed, "unsubscribe", fatal: true) }
    sendLeave(until: simulator.now + requestTimeout)
    lose()
    membership.needsToJoin = false
  }

  // MARK: Joining

  private func takePart() {
    while !isGone, !membership.isFenced {
      if membership.isLost { loseAll() }
      guard membership.needsToJoin else {
        wait()
        continue
      }
      if membership.isLost || waitsToJoin() { continue }
      membership.needsToJoin = false
      if !joinOnce() { membership.needsToJoin = true }
    }
  }

  private func wait() {
    if let changed = membership.changed { simulator.wait(for: changed, until: simulator.now + 5_000_000) }
  }

  /// - Returns: whether it was too early to join; then some time has passed.
  private func waitsToJoin() -> Bool {
    defer { membership.joinsAtOnce = false }
    let left = membership.joinsAtOnce ? 0 : membership.nextJoin - simulator.now
    if left > 0 {
      simulator.sleep(left)
      return true
    }
    membership.nextJoin = simulator.now + Self.joinInterval
    return false
  }

  /// - Returns: whether it has a place in a generation.
  private func joinOnce() -> Bool {
    guard let broker = broker(of: place) else {
      simulator.sleep(100_000)
      return false
    }
    let request = GroupCoordinator.JoinRequest(
      memberID: membership.memberID,
      instanceID: options.instanceID,
      held: holds(membership.topics),
      sessionTimeout: options.sessionTimeout * 1_000,
      rebalanceTimeout: options.maxPollInterval * 1_000
    )
    let joined: Result<GroupCoordinator.JoinAnswer, RefusedRequest> = network.call(
      .joinGroup,
      from: self,
      to: broker,
      timeout: options.maxPollInterval * 1_000 + 5_000_000
    ) { [group] reply in group.join(at: broker, request, reply) }
    guard !isGone else { return false }
    guard case .success(let answer) = joined else {
      if case .failure(let refused) = joined { note(refused) }
      return false
    }
    membership.memberID = answer.memberID
    membership.generation = answer.generation
    membership.lastAnswer = simulator.now
    let assignments = answer.isLeader ? shareOut(answer.members) : [:]
    let synced: Result<[TopicPartition], RefusedRequest> = network.call(
      .syncGroup,
      from: self,
      to: broker,
      timeout: options.maxPollInterval * 1_000
    ) { [group] reply in
      group.sync(at: broker, answer.memberID, answer.generation, assignments, reply)
    }
    guard !isGone else { return false }
    guard case .success(let assignment) = synced else {
      if case .failure(let refused) = synced { note(refused) }
      return false
    }
    // It may have left the group meanwhile.
    guard membership.memberID == answer.memberID, membership.generation == answer.generation else {
      return false
    }
    membership.lastAnswer = simulator.now
    return take(assignment)
  }

  private func note(_ refused: RefusedRequest) {
    switch refused.code {
    case .memberIDRequired:
      membership.memberID = refused.memberID
      membership.joinsAtOnce = true
      return
    case .unknownMember, .illegalGeneration:
      if refused.code == .unknownMember { membership.memberID = "" }
      if !positions.isEmpty || rebalance != nil { membership.isLost = true }
    case .fencedInstance:
      membership.isFenced = true
      tell(error(.fencedInstance, "join", fatal: true))
    case .rebalanceInProgress: return
    default: if refused.isAboutPlace { forget(place) }
    }
    simulator.sleep(50_000)
  }

  /// Gives up what it has no more, and takes what is new, when its owner is ready for either.
  private func take(_ assignment: [TopicPartition]) -> Bool {
    let held = Set(holds(membership.topics))
    let revoked = held.subtracting(assignment)
    let added = Set(assignment).subtracting(held)
    if !revoked.isEmpty {
      simulator.sleep(Int64(SecondJoin.givingUpDelayMilliseconds) * 1_000)
      if membership.isLost || isGone { return false }
      membership.secondJoin.noteGivingUp(at: now)
      give(.revoking, withCompanions(revoked))
      if membership.isLost { return false }
    }
    var joinsAgain = !revoked.isEmpty
    if revoked.isEmpty || !added.isEmpty {
      if membership.secondJoin.isDue(gaining: added.count, at: now) {
        joinsAgain = true
        simulator.sleep(Int64(SecondJoin.delayMilliseconds) * 1_000)
        if membership.isLost || isGone { return false }
      }
      give(.assigned, withCompanions(added))
      if membership.isLost { return false }
    }
    membership.joinsAtOnce = joinsAgain
    return !joinsAgain
  }

  private var now: Duration { .microseconds(simulator.now) }

  /// Tells the owner of a rebalance and waits until it is completed.
  private func give(_ kind: Rebalance.Kind, _ partitions: [TopicPartition], needsNewConsumer: Bool = false) {
    let partitions = partitions.sorted { ($0.topic, $0.partition) < ($1.topic, $1.partition) }
    present(Rebalance(kind, partitions, needsNewConsumer: needsNewConsumer))
    while rebalance != nil, !isGone { wait() }
  }

  private func loseAll() {
    if !positions.isEmpty {
      // librdkafka may not tell what happened while a rebalance was dealt with.
      let isUntold = membership.wasInRebalance && chance(50)
      give(.lost, positions.map(\.partition), needsNewConsumer: isUntold)
    }
    membership.wasInRebalance = false
    membership.isLost = false
    membership.needsToJoin = true
  }

  /// Who gets what: as much as others do, and of that as much as possible of what it has. What another one still has, nobody
  /// gets until that has given it up.
  private func shareOut(_ members: [(id: String, held: [TopicPartition])]) -> [String: [TopicPartition]] {
    let all = membership.topics.flatMap { topic in
      (cluster.topics[topic] ?? []).map(\.partition)
    }
    var owner: [TopicPartition: String] = [:]
    for (id, held) in members { for partition in held { owner[partition] = id } }
    var assignments: [String: [TopicPartition]] = [:]
    let members = members.sorted {
      $0.held.count != $1.held.count ? $0.held.count > $1.held.count : $0.id < $1.id
    }
    let least = all.count / members.count
    var extra = all.count % members.count
    var free = all.filter { owner[$0] == nil }
    var moving: [TopicPartition] = []
    var room: [(id: String, count: Int)] = []
    for (id, held) in members {
      let held = all.filter { held.contains($0) && owner[$0] == id }
      let most = least + (extra > 0 && (held.count > least || room.count >= members.count - extra) ? 1 : 0)
      if most > least { extra -= 1 }
      assignments[id] = Array(held.prefix(most))
      moving += held.dropFirst(most)
      room.append((id, max(0, most - held.count)))
    }
    for (id, count) in room {
      for _ in 0..<count {
        if !free.isEmpty { assignments[id, default: []].append(free.removeFirst()) }
      }
    }
    // What is left over would be nobody's.
    for (index, partition) in free.enumerated() {
      assignments[members[members.count - 1 - index % members.count].id, default: []].append(partition)
    }
    return assignments
  }

  // MARK: Staying

  private func keepMembership() {
    while !isGone, !membership.isFenced {
      simulator.sleep(Self.heartbeat)
      guard !isGone, !membership.memberID.isEmpty, membership.generation >= 0, !membership.isLost else {
        continue
      }
      if simulator.now - membership.lastPoll > options.maxPollInterval * 1_000 {
        tell(error(.maxPollExceeded, "poll"))
        sendLeave(until: simulator.now + requestTimeout)
        lose()
        continue
      }
      beat()
    }
  }

  private func beat() {
    let (id, generation) = (membership.memberID, membership.generation)
    guard let broker = broker(of: place) else { return }
    let answer: Result<Void, RefusedRequest> = network.call(
      .heartbeat,
      from: self,
      to: broker,
      timeout: 1_000_000
    ) { [group] reply in
      reply(Result { () throws(RefusedRequest) in try group.heartbeat(at: broker, id, generation) })
    }
    guard !isGone, id == membership.memberID, generation == membership.generation else { return }
    switch answer {
    case .success: membership.lastAnswer = simulator.now
    case .failure(let refused):
      switch refused.code {
      case .rebalanceInProgress:
        membership.lastAnswer = simulator.now
        membership.needsToJoin = true
        membership.changed?.notify()
      case .unknownMember, .illegalGeneration: lose()
      case .fencedInstance:
        membership.isFenced = true
        tell(error(.fencedInstance, "heartbeat", fatal: true))
      default: if refused.isAboutPlace { forget(place) }
      }
    }
    if simulator.now - membership.lastAnswer > options.sessionTimeout * 1_000 { lose() }
  }

  private func lose() {
    membership.memberID = ""
    membership.generation = -1
    // What was assigned and is not taken yet is lost as well.
    membership.isLost = !positions.isEmpty || rebalance != nil
    membership.wasInRebalance = rebalance != nil
    membership.needsToJoin = true
    membership.changed?.notify()
  }

  func leaveGroup(milliseconds: Int32) {
    // Who has a name for good keeps its place.
    guard options.instanceID == nil, !membership.memberID.isEmpty else { return }
    sendLeave(until: simulator.now + Int64(milliseconds) * 1_000)
  }

  private func sendLeave(until deadline: Int64) {
    let id = membership.memberID
    try? ask(.leaveGroup, place, until: deadline) { [group] broker throws(RefusedRequest) in
      try group.leave(at: broker, id)
    }
    membership.memberID = ""
  }
}

/// What a consumer knows of its place in the group.
struct GroupMembership {
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
  var secondJoin: SecondJoin
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

/// Which member of which generation commits.
public final class SimulatedMembership {
  public let memberID: String
  public let generation: Int32
  let group: String

  public init(memberID: String, generation: Int32, group: String = ConsumerOptions.defaultGroup) {
    self.group = group
    self.memberID = memberID
    self.generation = generation
  }
}
