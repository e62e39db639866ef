import Changesets
import Diagnostics
import Feed
import FeedConfiguration
import FeedIngest
import FeedKafka
import FeedStore
import Kafka
import OperatingSystem
import SimulationSupport

@testable import FeedClient
@testable import FeedStatus
@testable import FeedTransactions
@testable import FeedWorker
@testable import Standby

/// A daemon with one worker, in a process of its own.
final class SimulatedMember {
  let process: SimulatedProcess
  let stop: StopRequest
  let status = DaemonStatus()
  /// What it follows of others' partitions; nil if it follows none.
  private(set) var standby: StandbyFollower?
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
    let ingests = story.setting.ingests(number)
    let process = SimulatedProcess("\(ingests ? "i" : "m")\(number).\(start)", seed: story.seed)
    self.process = process
    let clients = SimulatedClients(
      network: network,
      process: process,
      queueCapacity: story.setting.queueCapacity
    )
    stop = StopRequest(clock: clients.milliseconds)
    let cost = story.setting.recordMicroseconds
    nonisolated(unsafe) let shared = (simulator: simulator, process: process, story: story)
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
    var environment = WorkerEnvironment(status, stop: stop, log: log)
    environment.coarseClock = {
      shared.process.busy += cost
      return clients.milliseconds()
    }
    environment.clients = clients
    environment.wallClock = {
      let time = clients.milliseconds()
      return time + shared.story.clockError(of: number, at: time)
    }
    if let maxBytes = story.setting.standbyBytes {
      let topic = story.setting.configuration.store.topics.changesets
      let client = FeedClient(FeedClientOptions(kafka: [:], topic: topic, partitions: [])) { _, _, _ in }
      let standby = StandbyFollower(
        client,
        servesFeeds: false,
        standbyBytes: maxBytes,
        seed: UInt64(number),
        log,
        milliseconds: clients.milliseconds
      )
      self.standby = standby
      environment.standby = standby
      simulator.spawn(process) { [stop] in
        while !stop.isRequested, Self.follow(client.subscriptions, standby, clients, stop) {}
      }
    }
    simulator.spawn(process) { [self, environment] in
      let result = Result {
        let settings = try KafkaSettings(story.setting.kafka(member: number))
        let configuration = story.setting.configuration
        let identity = WorkerIdentity(number: 0, count: 1, process: identity)
        if ingests {
          try IngestWorker(identity, configuration, settings, environment).run()
          return DaemonReport(environment.status.statistics)
        }
        var environment = environment
        environment.contents = configuration.store.topics.contents.map {
          ContentsReader($0, configuration, settings, environment)
        }
        let worker = try Worker(identity, configuration, settings, environment)
        let store = FeedStore(
          options: worker.options,
          budget: environment.stateBudget,
          contents: environment.contents?.table ?? ContentTable(),
          followsContents: environment.contents != nil
        )
        return try run(worker, store)
      }
      if process.isAlive {
        end = result
        simulator.tell("\(process.name) has ended: \(result.text)")
        process.kill()
      }
    }
  }

  /// Follows until the end of the member, or a failure.
  ///
  /// - Returns: whether to try again.
  private static func follow(
    _ subscriptions: Subscriptions,
    _ standby: StandbyFollower,
    _ clients: SimulatedClients,
    _ stop: StopRequest
  ) -> Bool {
    let client = clients.makeReader()
    let follower = ChangesetFollower(
      client,
      subscriptions,
      topicTimeout: .zero,
      log: { _, _, _ in },
      milliseconds: clients.milliseconds,
      onProgress: { standby.note($0) }
    )
    do {
      while !stop.isRequested { _ = try follower.step() }
      return false
    } catch {
      // The process was killed.
      if (error as? KafkaError)?.isFatal == true { return false }
      subscriptions.finish(.stopped)
      subscriptions.reset()
      standby.reset()
      // The pause before the next attempt.
      _ = try? client.fill(client.makeBatch(capacity: 1), timeoutMilliseconds: 1_000)
      return true
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
