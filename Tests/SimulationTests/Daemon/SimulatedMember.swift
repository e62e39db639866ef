import FeedConfiguration
import FeedKafka
import FeedStore
import Service
import SimulationSupport

@testable import FeedWorker

/// A daemon with one worker, in a process of its own.
final class SimulatedMember {
  let process: SimulatedProcess
  let stop: StopRequest
  let status = DaemonStatus()
  /// What it follows of others' partitions; nil if it follows none.
  private(set) var standby: Standby?
  /// How it has ended; nil as long as it runs, or if it was killed.
  private(set) var end: Result<DaemonReport, any Error>?
  var isRunning: Bool { process.isAlive && end == nil }

  /// - Parameters:
  ///   - number: the place it takes, which others have had before.
  ///   - start: how many have.
  init(
    _ number: Int,
    start: Int,
    _ story: Story,
    _ network: SimulatedNetwork,
    _ identity: ProcessIdentity
  ) {
    let simulator = network.simulator
    let process = SimulatedProcess("m\(number).\(start)", seed: story.seed)
    self.process = process
    let clients = SimulatedClients(
      network: network,
      process: process,
      queueCapacity: story.setting.queueCapacity
    )
    stop = StopRequest(clock: clients.milliseconds)
    let cost = story.setting.recordMicroseconds
    nonisolated(unsafe) let shared = (simulator: simulator, process: process)
    var clocks = LogClocks()
    clocks.wall = { 0 }
    clocks.monotonic = { clients.milliseconds() }
    clocks.later = { milliseconds, action in
      shared.simulator.schedule(after: milliseconds * 1_000, action)
    }
    let log = Log(
      level: simulator.onLine == nil ? .error : .info,
      output: DiagnosticOutput(isTerminal: false) { line in
        shared.simulator.tell("\(shared.process.name): \(line.dropLast().dropFirst(25))")
      },
      clocks: clocks
    )
    var environment = WorkerEnvironment(
      stop: stop,
      log: log,
      rejectedLimit: RejectedRecordLimit(),
      stateBudget: StateBudget(),
      crash: nil,
      status: status,
      backlog: nil,
      coarseClock: {
        shared.process.busy += cost
        return clients.milliseconds()
      },
      onEvent: { _ in }
    )
    environment.clients = clients
    if let maxBytes = story.setting.standbyBytes,
      let settings = try? KafkaSettings(story.setting.kafka(member: number))
    {
      let standby = Standby(
        settings,
        topic: story.setting.configuration.store.topics.changesets,
        maxBytes: maxBytes,
        seed: UInt64(number),
        clients: clients,
        stop: stop,
        log
      )
      self.standby = standby
      environment.standby = standby
      simulator.spawn(process) { standby.run() }
    }
    simulator.spawn(process) { [self, environment] in
      let result = Result {
        let settings = try KafkaSettings(story.setting.kafka(member: number))
        let worker = try Worker(
          WorkerIdentity(number: 0, count: 1, process: identity),
          story.setting.configuration,
          settings,
          environment
        )
        return try run(worker, FeedStore(options: worker.options, budget: environment.stateBudget))
      }
      if process.isAlive {
        end = result
        simulator.tell("\(process.name) has ended: \(result.text)")
        process.kill()
      }
    }
  }

  /// Runs a worker within its store's isolation: the store belongs to this thread like everything else here.
  private func run(_ worker: Worker, _ store: FeedStore) throws -> DaemonReport {
    let isolated: (isolated FeedStore) throws -> DaemonReport = { try worker.run(with: $0) }
    return try unsafeBitCast(isolated, to: ((FeedStore) throws -> DaemonReport).self)(store)
  }
}

extension Result where Success == DaemonReport {
  var text: String {
    switch self {
    case .success: "well"
    case .failure(let error): "\(error)"
    }
  }
}
