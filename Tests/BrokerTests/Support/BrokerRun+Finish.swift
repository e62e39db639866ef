import FeedStore
import Kafka
import ObservationSupport
import Service

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

  /// What goes with the offsets is read by daemons of other builds as well, and must not say more of the changesets topic
  /// than there is: whoever restores the feeds would take it for cut off.
  private func checkLeastEnds(_ committed: [TopicPartition: CommittedOffset]) async throws {
    let ends = try await ends(of: [topics.names.changesets])
    for (input, offset) in committed {
      let changesets = TopicPartition(topic: topics.names.changesets, partition: input.partition)
      let least = offset.metadata.wholeMatch(
        of: /changesets=([0-9]+)( partitions=[0-9]+)?( member=.+ producer=.+)?/
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
