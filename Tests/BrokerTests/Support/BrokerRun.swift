import Diagnostics
import FeedStore
import FeedTestSupport
import Foundation
import Kafka
import ObservationSupport
import OperatingSystem
import Oracle
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
  /// The folder of the daemons' logs and of other files of a test.
  let directory: URL
  private let members = Mutex<[Member]>([])

  private init(_ label: String, _ options: RunOptions) throws {
    var options = options
    options.generator.partitionCount = Int(options.partitions)
    seed = TestCluster.seed
    if options.mayHaveOrders, seed.isMultiple(of: 2) { options.generator.addOrders() }
    self.options = options
    topics = TestTopics(label, partitions: options.partitions, hasContents: options.generator.hasContents)
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
      // Not `waitForAll`, which reports a failure only after all tasks have ended.
      while try await group.next() != nil {}
    }
  }

  // MARK: Daemons

  /// Starts a daemon.
  ///
  /// - Parameters:
  ///   - settings: additional settings.
  ///   - build: the build of the command.
  ///   - crash: the point at which it ends without warning, if any.
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

  /// The settings of all daemons: many small windows.
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

  /// A daemon that has ended unexpectedly, or has logged a forbidden line; nil if there is none.
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

  /// Waits until new changesets were published to every partition.
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

/// The options of a run on a cluster.
struct RunOptions: Sendable {
  var partitions: Int32 = 4
  /// Settings of the changesets topic; none for the defaults, with which nothing is compacted during a run.
  var compaction: [String: String] = [:]
  /// Additional settings of the daemons.
  var settings: [String: String] = [:]
  /// Events that no daemon may log.
  var forbiddenEvents: [LogEvent] = []
  var generator: GeneratorOptions
  /// Whether half of the runs have ordered and bounded sections.
  var mayHaveOrders = true
  var recordsPerPoll = 10

  init() {
    generator = GeneratorOptions()
    generator.feedCount = 6
    // The broker assigns offsets.
    generator.repeatedOffsetPercent = 0
  }
}

extension BrokerRun {
  /// Restarts the brokers with the command from the environment. Returns when the command has ended; its background
  /// processes may continue.
  func restartBrokers() async throws {
    guard let command = TestCluster.restartCommand else {
      throw BrokerFailure("FEEDSTORE_TEST_RESTART names no command that restarts")
    }
    let shell = try ShellCommand(command)
    try await wait("the end of \(command)") { _ in shell.exitCode != nil }
    let code = shell.exitCode
    try BrokerFailure.check(code == 0, "\(command): exit code \(code ?? -1)")
  }
}

/// The tools' output for a run's topics.
extension BrokerRun {
  /// Runs the tools of both builds: each must accept the topics and read the same records as the other.
  ///
  /// No messages may be in flight.
  func checkTools() async throws {
    try await onThread {
      var (feeds, rejects): ([Build: String], [Build: String]) = ([:], [:])
      for build in Build.allCases {
        _ = try self.output(of: ["verify", "--topic"], build)
        feeds[build] = try self.output(of: ["follow", "--snapshot"], build)
        rejects[build] = try self.output(of: ["rejects", "list", "--json"], build)
      }
      try BrokerFailure.check(feeds[.earlier] == feeds[.current], "the builds read different feeds")
      try BrokerFailure.check(
        rejects[.earlier] == rejects[.current],
        "the builds list different rejected records"
      )
    }
  }

  /// The output of a command, which must succeed.
  private func output(of arguments: [String], _ build: Build) throws -> String {
    let command = try CommandRun(arguments + Build.options(common), of: build.command, in: directory)
    try BrokerFailure.check(
      command.exitCode == 0,
      "\(build): \(arguments): exit code \(command.exitCode): \(command.output.suffix(2_000))\n\(command.error)"
    )
    return command.output
  }
}

/// The end of a run: everything must have been applied, once.
extension BrokerRun {
  /// Waits until all input is committed and all output observed. Nothing else may be in progress.
  func settle() async throws {
    load.pause()
    try await wait("the input's end") { _ in self.load.isIdle }
    let committed = try await onThread {
      let inputs = [self.topics.names.sections, self.topics.names.items]
      let ends = try TopicReader.contents(self.topics, inputs).ends
      return try self.topics.waitForCommits(ends) { try self.checkMembers() }
    }
    try await waitForOutput()
    try await checkLeastEnds(committed)
  }

  /// Daemons of other builds also read the metadata of offsets, so it must not name an end of the changesets topic that
  /// does not exist: a restoration would consider the topic cut off.
  private func checkLeastEnds(_ committed: [TopicPartition: CommittedOffset]) async throws {
    let ends = try await ends(of: [topics.names.changesets])
    for (input, offset) in committed {
      let changesets = TopicPartition(topic: topics.names.changesets, partition: input.partition)
      let least = offset.metadata.wholeMatch(
        of:
          /(?:changesets=9223372036854775807 ends?|changesets)=([0-9]+)( partitions=[0-9]+)?(?: contents=[0-9:,]+)?(?: member=.+ producer=.+)?/
      ).flatMap {
        Int64($0.1)
      }
      try BrokerFailure.check(
        least.map { $0 <= ends[changesets] ?? 0 } == true,
        "\(input) has \(offset), and \(changesets) ends at \(ends[changesets] ?? 0)"
      )
    }
  }

  /// Stops all daemons, and compares the output with the oracle.
  func finish() async throws {
    let begin = ContinuousClock.now
    try await settle()
    if topics.names.contents != nil {
      let oracle = try await onThread { try InputOracle(self.topics) }
      try await wait("all items to show the last contents") { oracle.complaints(about: $0).isEmpty }
    }
    let duration = ContinuousClock.now - begin
    let published = observer.observation.records
    for member in running { member.resume() }
    for member in running { try await stop(member) }
    try await waitForOutput()
    try BrokerFailure.check(
      observer.observation.records == published,
      "stopping published something, although all input was committed"
    )
    let observation = observer.observation
    let (oracle, complaints) = try await onThread {
      let oracle = try InputOracle(self.topics)
      return (oracle, oracle.complaints(about: observation))
    }
    try BrokerFailure.check(
      complaints.isEmpty,
      "\(complaints.count) complaints: \(complaints.prefix(10).joined(separator: "\n"))"
    )
    print(
      """
      \(topics.prefix): \(oracle.records) records in, \(observation.records) out; \
      \(observation.claims.count) changesets of \(observation.epochs) epochs, \
      \(observation.rejected.count) rejected; \(oracle.feeds.count) feeds at the end; \
      caught up in \(duration)
      """
    )
  }

  /// Waits until the observer has read everything, which may require open transactions to end.
  func waitForOutput() async throws {
    let ends = try await ends(of: [topics.names.changesets, topics.names.rejected])
    try await wait("the output's end") { observation in
      ends.allSatisfy { (observation.positions[$0.key] ?? 0) >= $0.value }
    }
  }

  /// The ends of topics, including open transactions.
  private func ends(of names: [String]) async throws -> [TopicPartition: Int64] {
    try await onThread {
      let reader = try TopicReader(self.topics, names, isolation: .readUncommitted)
      defer { reader.close() }
      return try reader.ends()
    }
  }

  /// Runs a blocking body on a separate thread.
  func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    let thread = WorkerThread(name: "run")
    defer { thread.stop() }
    return try await withTaskExecutorPreference(thread) { @concurrent in try body() }
  }
}

/// The daemon in separate processes, on a Kafka cluster: exactly once under all disturbances.
///
/// Suites run concurrently, because their daemons mostly wait; the tests of one suite do not, because few machines
/// can run all of them at once.
@Suite(.enabled(if: TestCluster.isThere, "FEEDSTORE_TEST_BOOTSTRAP names no Kafka cluster"))
struct OnCluster {}
