import Changesets
import Diagnostics
import FeedConfiguration
import Kafka
import OperatingSystem
import Settings
import SimulationSupport
import Synchronization
import Testing

@testable import FeedKafka
@testable import FeedStatus
@testable import FeedTransactions

@Suite struct OpenInputTransactionTests {
  private let laboratory = Laboratory()
  private typealias L = Laboratory

  /// Logs the lines of `noteOpenTransactions` during some seconds, with their times.
  private func lines(
    _ process: SimulatedProcess,
    seconds: Int,
    position: @escaping (Int) -> Int64 = { _ in 0 }
  ) throws -> [String] {
    let clients = SimulatedClients(network: laboratory.network, process: process, queueCapacity: 100)
    let told = Mutex<[String]>([])
    var clocks = LogClocks()
    clocks.monotonic = clients.milliseconds
    let output = DiagnosticOutput(isTerminal: false) { line in told.withLock { $0.append(line) } }
    let log = Log(level: .warning, output: output, clocks: clocks)
    let status = DaemonStatus()
    var environment = WorkerEnvironment(status, stop: StopRequest(clock: clients.milliseconds), log: log)
    environment.clients = clients
    environment.coarseClock = clients.milliseconds
    environment.wallClock = clients.milliseconds
    let settings = try KafkaSettings([ConfigurationPair(name: "bootstrap.servers", value: "simulated")])
    let member = try InputReader(["group.id": "g"], settings, environment, status.worker(0))
    try member.consumer.add([TopicPartitionOffset(L.input, offset: 0)])
    for second in 0..<seconds {
      try member.pollIdle()
      laboratory.simulator.sleep(1_000_000)
      member.noteOpenTransactions(behind: [L.input: position(second)])
    }
    return told.withLock { $0 }.map { line in
      String(line.drop { $0 != " " }.dropFirst())
    }
  }

  /// Leaves a transaction open on the input.
  private func open(_ process: SimulatedProcess) throws -> SimulatedProducer {
    let producer = laboratory.producer(process, "other", timeout: 600_000)
    try producer.initTransactions(timeoutMilliseconds: 5_000)
    try producer.begin()
    try producer.produce(L.record("withheld"), to: L.input)
    try producer.flush(timeoutMilliseconds: 1_000)
    return producer
  }

  @Test func `a transaction that stays open on an input is named after a minute`() {
    laboratory.run { [self] process in
      let producer = try open(process)
      let lines = try lines(process, seconds: 70)
      #expect(
        lines.count == 1
          && lines[0].contains("event=input.transaction-open partition=\"in [0]\" offset=0 lag=1"),
        "\(lines)"
      )
      try producer.abort(timeoutMilliseconds: 1_000)
    }
  }

  @Test func `input that is read, or that was committed, is not taken for one`() {
    laboratory.run { [self] process in
      for number in 0..<100 { laboratory.cluster.append(L.record("\(number)"), to: L.input) }
      let producer = try open(process)
      #expect(try lines(process, seconds: 90) { Int64($0) } == [])
      try producer.commit(timeoutMilliseconds: 1_000)
      laboratory.simulator.sleep(1_000_000)
      // A slow worker: everything can be read.
      #expect(try lines(process, seconds: 200) == [])
    }
  }
}
