import Kafka
import SimulationSupport
import Testing

/// A cluster for experiments: three brokers, topics `in` and `out` with two partitions each.
final class Laboratory {
  let simulator = Simulator()
  let cluster: SimulatedCluster
  let network: SimulatedNetwork
  private var processes: [SimulatedProcess] = []

  init(brokers: Int = 3) {
    cluster = SimulatedCluster(simulator, brokers: brokers)
    network = SimulatedNetwork(cluster)
    cluster.createTopic("in", partitions: 2)
    cluster.createTopic("out", partitions: 2)
  }

  deinit {
    for process in processes { process.kill() }
    simulator.run(until: simulator.now + 1_000_000)
    cluster.end()
    simulator.end()
  }

  func process(_ name: String) -> SimulatedProcess {
    let process = SimulatedProcess(name, seed: 1)
    processes.append(process)
    return process
  }

  /// Runs a function to its end, in a separate process.
  func run(_ body: @escaping (SimulatedProcess) throws -> Void) {
    let process = process("p")
    var result: Result<Void, any Error>?
    simulator.spawn(process) { result = Result { try body(process) } }
    simulator.run(until: simulator.now + 600_000_000) { result != nil }
    guard let result else {
      Issue.record("it has not ended in 600 s")
      return
    }
    if case .failure(let error) = result { Issue.record("\(error)") }
  }

  func producer(
    _ process: SimulatedProcess,
    _ id: String = "t",
    timeout: Int64 = 10_000,
    capacity: Int = 1_000
  ) -> SimulatedProducer {
    SimulatedProducer(network, process, transactionalID: id, timeoutMilliseconds: timeout, capacity: capacity)
  }

  func member(_ process: SimulatedProcess, instanceID: String? = nil) -> SimulatedConsumer {
    var options = ConsumerOptions()
    options.hasGroup = true
    options.instanceID = instanceID
    options.maxPollInterval = 60_000
    return SimulatedConsumer(network, process, options)
  }

  static let out = TopicPartition(topic: "out", partition: 0)
  static let input = TopicPartition(topic: "in", partition: 0)

  static func record(_ text: String) -> SimulatedRecord {
    SimulatedRecord(key: Array(text.utf8), value: Array(text.utf8), timestamp: 0)
  }

  /// The readable records of a partition.
  func contents(of partition: TopicPartition, _ isolation: IsolationLevel = .readCommitted) -> [String] {
    guard let log = cluster.log(partition) else { return [] }
    return log.read(from: 0, below: .max, isolation, most: .max).records.map {
      String(decoding: $0.record.value ?? [], as: UTF8.self)
    }
  }
}

/// The error of a call, if it fails.
func failure(of body: () throws -> Void) -> KafkaError? {
  do {
    try body()
    return nil
  } catch {
    return error as? KafkaError
  }
}
