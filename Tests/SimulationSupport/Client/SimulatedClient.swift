public import Kafka

/// What every client does: it finds out who to ask, asks, and asks again.
public class SimulatedClient {
  let network: SimulatedNetwork
  let process: SimulatedProcess
  let name: String
  private var random: SplitMix64Stream
  public internal(set) var isClosed = false
  /// Connections that broke, or were closed because an answer took too long.
  var lostConnections = 0
  private var brokers: [Place: Int] = [:]
  /// When the last request has arrived at each broker: requests of one connection do not overtake each other.
  private var arrivals: [Int: Int64] = [:]

  /// Statistics are not simulated.
  public var onStatistics: ((ClientStatistics) -> Void)?

  /// Who answers a request: a coordinator, or a leader.
  enum Place: Hashable {
    case transactions
    case group(String)
    case leader(TopicPartition)
  }

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

  func broker(of place: Place) -> Int? {
    if let known = brokers[place] { return known }
    let kind: RequestKind = if case .leader = place { .metadata } else { .findCoordinator }
    let anyBroker = Int(random.below(Int64(cluster.brokers.count)))
    let answer: Result<Int?, RefusedRequest> = network.call(
      kind,
      from: self,
      to: anyBroker,
      timeout: requestTimeout
    ) { [cluster] reply in
      switch place {
      case .group(let name): reply(.success(cluster.group(name).broker))
      case .transactions: reply(.success(cluster.transactions.broker))
      case .leader(let partition): reply(.success(cluster.leader(of: partition)))
      }
    }
    guard case .success(let found?) = answer else { return nil }
    brokers[place] = found
    return found
  }

  func forget(_ place: Place) { brokers[place] = nil }

  // MARK: Asking

  /// Asks until the answer is something that asking again does not change.
  ///
  /// - Parameter deadline: when to give up, in microseconds.
  func ask<Answer>(
    _ kind: RequestKind,
    _ place: Place,
    until deadline: Int64,
    while goesOn: () -> Bool = { true },
    _ handle: @escaping (Int) throws(RefusedRequest) -> Answer
  ) throws(RefusedRequest) -> Answer {
    while !isGone, goesOn() {
      if let broker = self.broker(of: place) {
        let left = max(1, min(requestTimeout, deadline - simulator.now))
        do throws(RefusedRequest) {
          return try network.call(kind, from: self, to: broker, timeout: left) { reply in
            reply(Result { () throws(RefusedRequest) in try handle(broker) })
          }.get()
        } catch {
          guard error.passes else { throw error }
          if error.isAboutPlace { forget(place) }
        }
      }
      if simulator.now >= deadline { throw RefusedRequest(.timedOut) }
      simulator.sleep(min(Self.retryPause, deadline - simulator.now))
      if simulator.now >= deadline { throw RefusedRequest(.timedOut) }
    }
    throw RefusedRequest(.closed)
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
