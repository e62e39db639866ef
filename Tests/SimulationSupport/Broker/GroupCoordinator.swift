@testable public import Kafka

/// Keeps one group: its members and generations, who has which partitions, and the offsets that it has committed.
public final class GroupCoordinator {
  enum State { case empty, joining, syncing, stable }

  struct JoinAnswer {
    let memberID: String
    let generation: Int32
    let isLeader: Bool
    /// For the leader: each member, with the partitions that it says it holds.
    let members: [(id: String, held: [TopicPartition])]
  }

  final class Member {
    let id: String
    let instanceID: String?
    var held: [TopicPartition]
    /// The partitions that it held in the last complete generation, as another coordinator knows them.
    var heldInGeneration: [TopicPartition] = []
    var sessionTimeout: Int64
    var rebalanceTimeout: Int64
    var lastSeen: Int64
    var assignment: [TopicPartition] = []
    var join: ((Result<JoinAnswer, RefusedRequest>) -> Void)?
    var sync: ((Result<[TopicPartition], RefusedRequest>) -> Void)?

    init(_ id: String, _ instanceID: String?, _ request: JoinRequest, now: Int64) {
      self.id = id
      self.instanceID = instanceID
      held = request.held
      sessionTimeout = request.sessionTimeout
      rebalanceTimeout = request.rebalanceTimeout
      lastSeen = now
    }
  }

  struct JoinRequest {
    var memberID: String
    var instanceID: String?
    var held: [TopicPartition]
    var sessionTimeout: Int64
    var rebalanceTimeout: Int64
  }

  let name: String
  private unowned let cluster: SimulatedCluster
  private(set) var members: [Member] = []
  public private(set) var generation: Int32 = 0
  /// How often a coordinator has gone with a generation that was not written down. Its number is given out again.
  public private(set) var forgottenGenerations = 0
  private(set) var state = State.empty
  private var leader: String?
  private var nextMember = 1
  /// Members that others have replaced who have their names.
  private var fenced: Set<String> = []
  /// Ids that were given out and not joined with yet.
  private var promised: Set<String> = []
  public private(set) var offsets: [TopicPartition: CommittedOffset] = [:]
  /// Offsets of transactions that have not ended, by producer.
  private var pending: [Int64: [TopicPartition: CommittedOffset]] = [:]
  public var hasPendingOffsets: Bool { !pending.isEmpty }
  /// What is left of a group when its coordinator moves in the midst of a rebalance.
  private var lastStable: (generation: Int32, members: [Member], leader: String?) = (0, [], nil)
  private var place: Int
  private var loadingEnd: Int64 = 0
  private var round = 0
  private var random = SplitMix64Stream(seed: 0, "group")
  /// How long a group that was empty waits for more members, in microseconds.
  public var firstDelay: Int64 = 300_000
  /// Told of offsets that are accepted for a transaction: by whom, and of which generation.
  public var onOffsets: ((ProducerKey, String, Int32) -> Void)?

  init(_ cluster: SimulatedCluster, _ name: String, place: Int) {
    self.cluster = cluster
    self.name = name
    self.place = place
  }

  public func seed(_ seed: UInt64) { random = SplitMix64Stream(seed: seed, "group") }

  private var now: Int64 { cluster.simulator.now }

  var broker: Int? { cluster.coordinator(place) }

  public func moveAway() {
    place += 1
    move()
  }

  /// It is on another broker, which knows what was written down: the last generation that was complete.
  func move() {
    loadingEnd = now + 50_000 + random.below(200_000)
    for member in members { refuse(member, .notCoordinator) }
    if state == .joining || state == .syncing {
      forgottenGenerations += 1
      (generation, members, leader) = lastStable
      for member in members { member.held = member.heldInGeneration }
      state = members.isEmpty ? .empty : .stable
    }
    promised = []
    round += 1
    for member in members { keep(member) }
  }

  private func refuse(_ member: Member, _ code: KafkaErrorCode) {
    let (join, sync) = (member.join, member.sync)
    member.join = nil
    member.sync = nil
    join?(.failure(RefusedRequest(code)))
    sync?(.failure(RefusedRequest(code)))
  }

  private func checkAvailable(at broker: Int) throws(RefusedRequest) {
    if self.broker != broker { throw RefusedRequest(.notCoordinator) }
    if now < loadingEnd { throw RefusedRequest(.coordinatorLoading) }
  }

  private func member(_ id: String) -> Member? { members.first { $0.id == id } }

  // MARK: Membership

  /// A member wants to be in the next generation: answered when that is complete.
  func join(
    at broker: Int,
    _ request: JoinRequest,
    _ answer: @escaping (Result<JoinAnswer, RefusedRequest>) -> Void
  ) {
    do { try checkAvailable(at: broker) } catch { return answer(.failure(error)) }
    var known = member(request.memberID)
    if let instance = request.instanceID, let old = members.first(where: { $0.instanceID == instance }) {
      if request.memberID.isEmpty {
        known = replace(old, request)
        // The same place for another process: the other members do not notice.
        if state == .stable, let known { return confirm(known, answer) }
      } else if old.id != request.memberID {
        return answer(.failure(RefusedRequest(.fencedInstance)))
      }
    }
    if let known {
      if state == .stable, known.id != leader, Set(known.held) == Set(request.held) {
        return confirm(known, answer)
      }
    } else {
      if request.memberID.isEmpty {
        let id = "member-\(nextMember)"
        nextMember += 1
        if request.instanceID == nil {
          promised.insert(id)
          return answer(.failure(RefusedRequest(.memberIDRequired, memberID: id)))
        }
        known = admit(id, request)
      } else if promised.remove(request.memberID) != nil {
        known = admit(request.memberID, request)
      } else {
        return answer(.failure(RefusedRequest(.unknownMember)))
      }
    }
    guard let member = known else { return }
    refuse(member, .rebalanceInProgress)
    member.held = request.held
    member.join = answer
    keep(member)
    if state != .joining { prepare() }
    completeIfAllJoined()
  }

  /// Answers a member that joins the generation that it is in, as nothing has changed.
  private func confirm(_ member: Member, _ answer: (Result<JoinAnswer, RefusedRequest>) -> Void) {
    keep(member)
    answer(.success(JoinAnswer(memberID: member.id, generation: generation, isLeader: false, members: [])))
  }

  private func admit(_ id: String, _ request: JoinRequest) -> Member {
    let member = Member(id, request.instanceID, request, now: now)
    members.append(member)
    return member
  }

  private func replace(_ old: Member, _ request: JoinRequest) -> Member {
    let member = Member("member-\(nextMember)", old.instanceID, request, now: now)
    nextMember += 1
    member.assignment = old.assignment
    member.heldInGeneration = member.held
    fenced.insert(old.id)
    refuse(old, .fencedInstance)
    members = members.map { $0 === old ? member : $0 }
    lastStable.members = lastStable.members.map { $0 === old ? member : $0 }
    if leader == old.id { leader = member.id }
    keep(member)
    return member
  }

  /// A rebalance begins: who does not join in time is put out.
  private func prepare() {
    let wasEmpty = state == .empty
    for member in members where member.sync != nil { refuse(member, .rebalanceInProgress) }
    state = .joining
    round += 1
    let number = round
    let timeout = members.map(\.rebalanceTimeout).max() ?? 0
    cluster.simulator.schedule(after: wasEmpty ? firstDelay : timeout) { [weak self] in
      guard let self, round == number, state == .joining else { return }
      for member in members where member.join == nil {
        cluster.simulator.tell("the group puts out \(member.id), which does not join in time")
      }
      members.removeAll { $0.join == nil }
      complete()
    }
    isWaitingForFirst = wasEmpty
  }
  private var isWaitingForFirst = false

  private func completeIfAllJoined() {
    guard state == .joining, !isWaitingForFirst, !members.isEmpty,
      members.allSatisfy({ $0.join != nil })
    else { return }
    complete()
  }

  private func complete() {
    isWaitingForFirst = false
    round += 1
    generation += 1
    guard !members.isEmpty else {
      state = .empty
      lastStable = (generation, [], nil)
      return
    }
    state = .syncing
    let leader = members.first { $0.id == self.leader } ?? members[0]
    self.leader = leader.id
    let held = members.map { ($0.id, $0.held) }
    cluster.simulator.tell("generation \(generation) of \(members.map(\.id))")
    for member in members {
      keep(member)
      let join = member.join
      member.join = nil
      join?(
        .success(
          JoinAnswer(
            memberID: member.id,
            generation: generation,
            isLeader: member === leader,
            members: member === leader ? held : []
          )
        )
      )
    }
  }

  /// A member asks what it gets, and the leader says what everybody gets.
  func sync(
    at broker: Int,
    _ id: String,
    _ generation: Int32,
    _ assignments: [String: [TopicPartition]],
    _ answer: @escaping (Result<[TopicPartition], RefusedRequest>) -> Void
  ) {
    let member: Member
    do { member = try find(at: broker, id, generation) } catch { return answer(.failure(error)) }
    keep(member)
    switch state {
    case .joining: answer(.failure(RefusedRequest(.rebalanceInProgress)))
    case .stable: answer(.success(member.assignment))
    case .empty: answer(.failure(RefusedRequest(.unknownMember)))
    case .syncing:
      member.sync = answer
      guard id == leader else { return }
      for member in members {
        member.assignment = assignments[member.id] ?? []
        member.heldInGeneration = member.held
      }
      state = .stable
      lastStable = (generation, members, leader)
      for member in members {
        let sync = member.sync
        member.sync = nil
        sync?(.success(member.assignment))
      }
    }
  }

  func heartbeat(at broker: Int, _ id: String, _ generation: Int32) throws(RefusedRequest) {
    keep(try find(at: broker, id, generation))
    if state == .joining { throw RefusedRequest(.rebalanceInProgress) }
  }

  private func find(at broker: Int, _ id: String, _ generation: Int32) throws(RefusedRequest) -> Member {
    try checkAvailable(at: broker)
    guard let member = member(id) else {
      throw RefusedRequest(fenced.contains(id) ? .fencedInstance : .unknownMember)
    }
    if generation != self.generation { throw RefusedRequest(.illegalGeneration) }
    return member
  }

  func leave(at broker: Int, _ id: String) throws(RefusedRequest) {
    try checkAvailable(at: broker)
    guard let member = member(id) else { throw RefusedRequest(.unknownMember) }
    remove(member)
  }

  /// Puts a member out, as its session is over.
  public func expire(_ id: String) {
    if let member = member(id) { remove(member) }
  }

  /// The ids of the members.
  public var memberIDs: [String] { members.map(\.id) }

  private func remove(_ member: Member) {
    refuse(member, .unknownMember)
    members.removeAll { $0 === member }
    lastStable.members.removeAll { $0 === member }
    if members.isEmpty {
      round += 1
      generation += 1
      state = .empty
      isWaitingForFirst = false
      lastStable = (generation, [], nil)
    } else {
      if state != .joining { prepare() }
      completeIfAllJoined()
    }
  }

  /// A member was heard of; it is put out when it is not for too long. Who waits for the others is not missed.
  private func keep(_ member: Member) {
    member.lastSeen = now
    watch(member)
  }

  private func watch(_ member: Member) {
    let seen = member.lastSeen
    cluster.simulator.schedule(after: member.sessionTimeout) { [weak self, weak member] in
      guard let self, let member, member.lastSeen == seen, members.contains(where: { $0 === member }) else {
        return
      }
      if member.join != nil || now < loadingEnd {
        keep(member)
        return
      }
      cluster.simulator.tell("the group misses \(member.id)")
      remove(member)
    }
  }

  // MARK: Offsets

  /// Takes offsets into a transaction.
  func commitOffsets(
    at broker: Int,
    _ offsets: [TopicPartition: CommittedOffset],
    _ producer: ProducerKey,
    _ id: String,
    _ generation: Int32
  ) throws(RefusedRequest) {
    try checkAvailable(at: broker)
    // Who says that it is no member is believed.
    if generation >= 0 || !id.isEmpty { _ = try find(at: broker, id, generation) }
    try cluster.transactions.checkMayCommitOffsets(producer)
    cluster.simulator.tell(
      "offsets of \(id.isEmpty ? "nobody" : id) in generation \(generation): \(offsets.text)"
    )
    onOffsets?(producer, id, generation)
    pending[producer.id, default: [:]].merge(offsets) { $1 }
  }

  /// The transaction has ended.
  func endOffsets(of producer: Int64, isCommit: Bool) {
    guard let ended = pending.removeValue(forKey: producer), isCommit else { return }
    cluster.onOffsets?(self, ended)
    offsets.merge(ended) { $1 }
  }

  func memberIDs(at broker: Int) throws(RefusedRequest) -> Set<String> {
    try checkAvailable(at: broker)
    return Set(members.map(\.id))
  }

  /// What is committed.
  ///
  /// - Parameter isStable: only if no transaction that is open says something else of it.
  func committed(
    at broker: Int,
    _ partitions: [TopicPartition],
    isStable: Bool
  ) throws(RefusedRequest) -> [TopicPartition: CommittedOffset] {
    try checkAvailable(at: broker)
    for partition in isStable ? partitions : [] where pending.values.contains(where: { $0[partition] != nil })
    {
      throw RefusedRequest(.unstableOffsetCommit)
    }
    return offsets.filter { partitions.contains($0.key) }
  }
}
