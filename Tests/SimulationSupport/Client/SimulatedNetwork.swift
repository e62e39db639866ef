public import Kafka

/// Carries requests to brokers and answers back, or loses them.
public final class SimulatedNetwork {
  public let simulator: Simulator
  public let cluster: SimulatedCluster
  /// The faults of the next requests of a kind, in order.
  private var fates: [RequestKind: [Fate]] = [:]
  /// The number of sent requests, and of those with a fault.
  public private(set) var requestCount = 0
  public private(set) var faultCount = 0

  /// Called with a process that must die.
  public var onDeath: ((SimulatedProcess) -> Void)?

  public init(_ cluster: SimulatedCluster) {
    self.cluster = cluster
    simulator = cluster.simulator
  }

  /// Plans a fault for the next request of a kind without one.
  public func arm(_ kind: RequestKind, _ fate: Fate) { fates[kind, default: []].append(fate) }

  /// Cancels the planned faults.
  public func disarm() { fates = [:] }

  /// Sends a request to a broker and waits for its answer.
  ///
  /// - Parameters:
  ///   - timeout: the maximum wait for the answer, in microseconds.
  ///   - handle: the broker's handler of the request.
  func call<Answer>(
    _ kind: RequestKind,
    from client: SimulatedClient,
    to number: Int,
    timeout: Int64,
    _ handle: @escaping (@escaping (Result<Answer, RefusedRequest>) -> Void) -> Void
  ) -> Result<Answer, RefusedRequest> {
    guard client.process.isAlive else { return .failure(RefusedRequest(.closed)) }
    requestCount += 1
    let fate = takeFate(kind)
    if let fate {
      faultCount += 1
      simulator.tell("\(client.name): \(kind.rawValue) is \(fate)")
    }
    if fate == .senderDies {
      onDeath?(client.process)
      return .failure(RefusedRequest(.closed))
    }
    let broker = cluster.brokers[number]
    let call = Call<Answer>(simulator)
    let deadline = simulator.now + timeout
    if broker.isUp {
      send(call, to: broker, client, fate, handle)
    } else {
      simulator.schedule(after: client.latency()) { call.finish(.failure(RefusedRequest(.transport))) }
    }
    if fate == .senderDiesAfter { onDeath?(client.process) }
    while call.answer == nil, simulator.now < deadline, client.process.isAlive {
      simulator.wait(for: call.signal, until: deadline)
    }
    broker.calls.removeAll { $0 === call }
    guard client.process.isAlive else { return .failure(RefusedRequest(.closed)) }
    let answer = call.answer ?? .failure(RefusedRequest(.timedOut))
    if case .failure(let refused) = answer, [.transport, .timedOut].contains(refused.code) {
      client.lostConnections += 1
    } else if case .twice = fate {
      client.lostConnections += 1
    }
    return answer
  }

  private func takeFate(_ kind: RequestKind) -> Fate? {
    guard var waiting = fates[kind], !waiting.isEmpty else { return nil }
    let fate = waiting.removeFirst()
    fates[kind] = waiting.isEmpty ? nil : waiting
    return fate
  }

  private func send<Answer>(
    _ call: Call<Answer>,
    to broker: SimulatedBroker,
    _ client: SimulatedClient,
    _ fate: Fate?,
    _ handle: @escaping (@escaping (Result<Answer, RefusedRequest>) -> Void) -> Void
  ) {
    broker.calls.append(call)
    let start = broker.start
    var arrival = client.arrival(at: broker.number, simulator.now)
    switch fate {
    case .late(let milliseconds): arrival += milliseconds * 1_000
    case .overtaken(let milliseconds):
      arrival += milliseconds * 1_000
      simulator.schedule(after: client.latency()) { call.lose() }
    default: break
    }
    func arrive(_ answer: @escaping (Result<Answer, RefusedRequest>) -> Void) {
      guard broker.isUp, broker.start == start else { return }
      if case .refused(let code) = fate { return answer(.failure(RefusedRequest(code))) }
      handle(answer)
    }
    simulator.schedule(at: arrival) { [simulator] in
      if fate == .lost { return call.lose() }
      arrive { result in
        guard broker.isUp, broker.start == start else { return }
        if fate == .answerLost { return call.lose() }
        var back = client.latency()
        if case .slowAnswer(let milliseconds) = fate { back += milliseconds * 1_000 }
        simulator.schedule(after: back) { call.finish(result) }
      }
    }
    if case .twice(let milliseconds) = fate {
      simulator.schedule(at: arrival + milliseconds * 1_000) { arrive { _ in } }
    }
  }

  /// A request in flight.
  private final class Call<Answer>: PendingCall {
    let signal: Signal
    var answer: Result<Answer, RefusedRequest>?

    init(_ simulator: Simulator) { signal = Signal(simulator) }

    func finish(_ answer: Result<Answer, RefusedRequest>) {
      if self.answer != nil { return }
      self.answer = answer
      signal.notify()
    }

    func lose() { finish(.failure(RefusedRequest(.transport))) }
  }
}

/// The requests of clients.
public enum RequestKind: String, CaseIterable, Sendable {
  case metadata, findCoordinator, initProducer, addPartition, produce, addOffsets, commitOffsets,
    endTransaction
  case joinGroup, syncGroup, heartbeat, leaveGroup, fetchOffsets, listOffsets, fetch, describeGroup
}

/// The fault of one request.
public enum Fate: Sendable, Equatable {
  /// The connection breaks before the request arrives.
  case lost
  /// The request is handled, and the connection breaks before the answer arrives.
  case answerLost
  /// The request arrives this many milliseconds later, maybe long after its sender has given up.
  case late(Int64)
  /// The request is handled at once, and the answer takes this many milliseconds.
  case slowAnswer(Int64)
  /// The request arrives twice: the second time after this many milliseconds, from an abandoned connection.
  case twice(Int64)
  /// Its connection breaks at once, so that its sender repeats it, and it arrives nevertheless, this many milliseconds later.
  case overtaken(Int64)
  /// The broker rejects the request.
  case refused(KafkaErrorCode)
  /// The sender dies before it sends the request.
  case senderDies
  /// The sender dies as soon as it has sent the request.
  case senderDiesAfter
}

/// A broker's error instead of the requested action.
struct RefusedRequest: Error {
  let code: KafkaErrorCode
  /// The id with which to join, if one is required.
  var memberID = ""

  init(_ code: KafkaErrorCode, memberID: String = "") {
    self.code = code
    self.memberID = memberID
  }
}

/// Codes of the protocol that only brokers and clients' internals use.
extension KafkaErrorCode {
  static let offsetOutOfRange = KafkaErrorCode(rawValue: 1)
  static let rebalanceInProgress = KafkaErrorCode(rawValue: 27)
  static let outOfOrderSequence = KafkaErrorCode(rawValue: 45)
  static let invalidProducerMapping = KafkaErrorCode(rawValue: 49)
  static let memberIDRequired = KafkaErrorCode(rawValue: 79)
}
