import Kafka

/// What every client does: it finds out who to ask, asks, and asks again.
public class SimulatedClient {
  let network: SimulatedNetwork
  let process: SimulatedProcess
  let name: String
  private var random: SplitMix64Stream
  public internal(set) var isClosed = false
  private var leaders: [TopicPartition: Int] = [:]
  private var coordinators: [Coordinator: Int] = [:]
  /// When the last request has arrived at each broker: requests of one connection do not overtake each other.
  private var arrivals: [Int: Int64] = [:]

  enum Coordinator: Hashable { case group, transactions }

  var simulator: Simulator { network.simulator }
  var cluster: SimulatedCluster { network.cluster }
  /// Whether nothing that it does has an effect any more.
  var isGone: Bool { isClosed || !process.isAlive }

  /// How long a request may take, in microseconds.
  var requestTimeout: Int64 { 5_000_000 }
  private static let retryPause: Int64 = 20_000

  init(_ network: SimulatedNetwork, _ process: SimulatedProcess, _ kind: String) {
    self.network = network
    self.process = process
    process.clientCount += 1
    name = "\(process.name) \(kind)"
    random = SplitMix64Stream(seed: process.seed, "\(name) \(process.clientCount)")
  }

  /// How long a message is on its way, in microseconds.
  func latency() -> Int64 { 300 + random.below(random.chance(5) ? 20_000 : 1_500) }

  func chance(_ percent: Int) -> Bool { random.chance(percent) }

  func arrival(at broker: Int, _ now: Int64) -> Int64 {
    let time = max(arrivals[broker] ?? 0, now + latency())
    arrivals[broker] = time
    return time
  }

  /// Has some time pass, as every call takes some.
  func spend(_ microseconds: Int64 = 30) {
    guard process.isAlive else { return }
    let busy = process.busy
    process.busy = 0
    simulator.sleep(microseconds + busy)
  }

  // MARK: Who to ask

  private func anyBroker() -> Int { Int(random.below(Int64(cluster.brokers.count))) }

  func leader(of partition: TopicPartition) -> Int? {
    if let known = leaders[partition] { return known }
    let broker = anyBroker()
    let answer: Result<Int?, RefusedRequest> = network.call(
      .metadata,
      from: self,
      to: broker,
      timeout: requestTimeout
    ) { [cluster] in $0(.success(cluster.leader(of: partition))) }
    guard case .success(let leader?) = answer else { return nil }
    leaders[partition] = leader
    return leader
  }

  func forgetLeader(of partition: TopicPartition) { leaders[partition] = nil }

  func coordinator(_ kind: Coordinator) -> Int? {
    if let known = coordinators[kind] { return known }
    let broker = anyBroker()
    let answer: Result<Int?, RefusedRequest> = network.call(
      .findCoordinator,
      from: self,
      to: broker,
      timeout: requestTimeout
    ) { [cluster] in
      $0(.success(kind == .group ? cluster.group.broker : cluster.transactions.broker))
    }
    guard case .success(let found?) = answer else { return nil }
    coordinators[kind] = found
    return found
  }

  func forgetCoordinator(_ kind: Coordinator) { coordinators[kind] = nil }

  // MARK: Asking

  /// Asks a coordinator until it answers with something that asking again does not change.
  ///
  /// - Parameter deadline: when to give up, in microseconds.
  func ask<Answer>(
    _ kind: RequestKind,
    _ coordinator: Coordinator,
    until deadline: Int64,
    while goesOn: () -> Bool = { true },
    _ handle: @escaping (Int, @escaping (Result<Answer, RefusedRequest>) -> Void) -> Void
  ) -> Result<Answer, RefusedRequest> {
    while !isGone, goesOn() {
      if let broker = self.coordinator(coordinator) {
        let left = max(1, min(requestTimeout, deadline - simulator.now))
        let answer: Result<Answer, RefusedRequest> = network.call(kind, from: self, to: broker, timeout: left)
        {
          handle(broker, $0)
        }
        guard case .failure(let refused) = answer, refused.passes else { return answer }
        if refused.isAboutPlace { forgetCoordinator(coordinator) }
      }
      if simulator.now >= deadline { return .failure(RefusedRequest(.timedOut)) }
      simulator.sleep(min(Self.retryPause, deadline - simulator.now))
      if simulator.now >= deadline { return .failure(RefusedRequest(.timedOut)) }
    }
    return .failure(RefusedRequest(.closed))
  }

  /// Asks the leader of a partition in the same way.
  func ask<Answer>(
    _ kind: RequestKind,
    leaderOf partition: TopicPartition,
    until deadline: Int64,
    while goesOn: () -> Bool = { true },
    _ handle: @escaping (Int, @escaping (Result<Answer, RefusedRequest>) -> Void) -> Void
  ) -> Result<Answer, RefusedRequest> {
    while !isGone, goesOn() {
      if let broker = leader(of: partition) {
        let left = max(1, min(requestTimeout, deadline - simulator.now))
        let answer: Result<Answer, RefusedRequest> = network.call(kind, from: self, to: broker, timeout: left)
        {
          handle(broker, $0)
        }
        guard case .failure(let refused) = answer, refused.passes else { return answer }
        if refused.isAboutPlace { forgetLeader(of: partition) }
      }
      if simulator.now >= deadline { return .failure(RefusedRequest(.timedOut)) }
      simulator.sleep(min(Self.retryPause, deadline - simulator.now))
      if simulator.now >= deadline { return .failure(RefusedRequest(.timedOut)) }
    }
    return .failure(RefusedRequest(.closed))
  }
}

extension RefusedRequest {
  /// Whether asking again may bring something else.
  var passes: Bool { isAboutPlace || isAboutTime }

  /// Whether somebody else is to be asked.
  var isAboutPlace: Bool {
    [.transport, .timedOut, .notCoordinator, .notLeader, .leaderNotAvailable, .coordinatorNotAvailable]
      .contains(code)
  }

  private var isAboutTime: Bool {
    [
      .coordinatorLoading, .concurrentTransactions, .unstableOffsetCommit, .requestTimedOut,
      .notEnoughReplicas,
      .notEnoughReplicasAfterAppend,
    ].contains(code)
  }
}
