import FeedStore
import FeedTestSupport
import Foundation
import ObservationSupport
import ProcessSupport
import Synchronization
import Testing

/// One run on a cluster: new topics, an observer that checks all output, a load, and daemons in separate processes,
/// which the test controls.
final class BrokerRun: Sendable {
  let topics: TestTopics
  let options: RunOptions
  let seed: UInt64
  let observer: Observer
  let load: Load
  /// Where the daemons' logs are, and what else a test writes.
  let directory: URL
  private let members = Mutex<[Member]>([])

  private init(_ label: String, _ options: RunOptions) throws {
    var options = options
    options.generator.partitionCount = Int(options.partitions)
    self.options = options
    topics = TestTopics(label, partitions: options.partitions)
    seed = TestCluster.seed
    observer = Observer(topics)
    load = Load(topics, seed: seed, options: options.generator, recordsPerPoll: options.recordsPerPoll)
    directory = FileManager.default.temporaryDirectory.appendingPathComponent(topics.prefix)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  /// Creates the topics, runs the test's body, and compares the result with the oracle.
  ///
  /// - Parameters:
  ///   - label: a word for the topics' names.
  ///   - body: starts daemons and disturbances; one daemon must run at its end.
  /// - Throws: ``BrokerFailure`` with the seed and the paths of the daemons' logs.
  static func on(
    _ label: String,
    _ options: RunOptions = RunOptions(),
    _ body: @escaping @Sendable (BrokerRun) async throws -> Void
  ) async throws {
    let run = try BrokerRun(label, options)
    print("\(label): FEEDSTORE_TEST_SEED=\(run.seed)")
    do {
      try await run.topics.create(compaction: options.compaction)
      try await run.perform(body)
      try run.topics.delete()
    } catch {
      run.killAll()
      try? run.topics.delete()
      throw BrokerFailure(
        "\(error)\n\(label), seed \(run.seed); the daemons' logs: \(run.directory.path)/*.log"
      )
    }
    try FileManager.default.removeItem(at: run.directory)
  }

  private func perform(_ body: @escaping @Sendable (BrokerRun) async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await self.observer.run() }
      group.addTask { try await self.load.run(self.observer) }
      group.addTask {
        defer {
          self.load.stop()
          self.observer.stop()
        }
        try await body(self)
        try await self.finish()
      }
      // The first failure ends the other tasks, which then fail as well.
      defer {
        load.stop()
        observer.stop()
      }
      // The observer's end must not stop the load.
      try await group.waitForAll()
    }
  }

  // MARK: Daemons

  /// Starts a daemon.
  ///
  /// - Parameters:
  ///   - settings: what it is configured with, besides what all have.
  ///   - build: the build of the command.
  ///   - crash: where it is to end without warning, if it is to.
  func start(
    _ settings: [String: String] = [:],
    build: Build = .current,
    crash: String? = nil
  ) throws -> Member {
    try members.withLock { members in
      let name = "member-\(members.count)"
      let own = ["output.source": "/\(name)"].merging(common) { $1 }.merging(settings) { $1 }
      let path = directory.appendingPathComponent("\(name).log").path
      let member = try Member(name, own, build: build, logPath: path, crash: crash)
      members.append(member)
      return member
    }
  }

  /// What all daemons are configured with: many small windows.
  var common: [String: String] {
    topics.settings.merging(["coalesce.window": "20", "keyframe.maxDeltas": "5"]) { $1 }
      .merging(options.settings) { $1 }
  }

  /// The running daemons.
  var running: [Member] { members.withLock { $0.filter { $0.end == nil } } }

  func killAll() { for member in running { member.kill() } }

  // MARK: Waiting

  /// Waits like the observer, but fails if a daemon has ended unexpectedly.
  func wait(
    _ what: String,
    seconds: Int = 600,
    until isMet: @escaping @Sendable (Observation) -> Bool
  ) async throws {
    try await observer.wait(what, seconds: seconds) { self.problem != nil || isMet($0) }
    try checkMembers()
  }

  /// - Throws: ``BrokerFailure`` if there is a ``problem``.
  func checkMembers() throws(BrokerFailure) {
    if let problem { throw BrokerFailure(problem) }
  }

  /// A daemon that has ended although nobody wanted it to, or has logged what none may; nil if there is none.
  private var problem: String? {
    let members = members.withLock { $0 }
    if let failed = members.first(where: \.hasFailed) {
      return "\(failed.name) has ended by itself: \(failed.endText)"
    }
    for member in members {
      if let line = member.firstLine(about: options.forbiddenEvents) { return "\(member.name): \(line)" }
    }
    return nil
  }

  /// Waits until a number of further records were published.
  func waitForRecords(_ count: Int) async throws {
    let target = observer.observation.records + count
    try await wait("\(count) more records") { $0.records >= target }
  }

  /// Waits until each of these daemons has published from now on.
  func waitForRecords(of members: [Member]) async throws {
    let before = observer.observation.published
    try await wait("records of \(members.map(\.name))") { observation in
      members.allSatisfy { member in
        let source = "/\(member.name)"
        return observation.published[source] ?? 0 > before[source] ?? 0
      }
    }
  }

  /// Waits until something more was published to every partition.
  func waitForRecordsInAllPartitions() async throws {
    let before = observer.observation.publishedByPartition
    try await wait("records in all partitions") { observation in
      (0..<self.options.partitions).allSatisfy { partition in
        observation.publishedByPartition[partition] ?? 0 > before[partition] ?? 0
      }
    }
  }

  func waitForEnd(of member: Member) async throws {
    try await wait("the end of \(member.name)") { _ in member.end != nil }
  }

  /// Stops a daemon.
  func stop(_ member: Member) async throws {
    member.askToStop()
    try await waitForEnd(of: member)
    try BrokerFailure.check(member.end == .exited(0), "\(member.name): \(member.endText)")
  }

  /// Kills a daemon.
  func kill(_ member: Member) async throws {
    member.kill()
    try await waitForEnd(of: member)
  }
}
