package import Diagnostics
import Feed
package import FeedConfiguration
import FeedStore
package import FeedVerification
import OperatingSystem

/// `feedstore verify`: checks changesets, in files or on a cluster, against the protocol.
package enum Verification {
  /// The source of the changesets.
  package enum Input: Sendable, Equatable {
    /// Output files of a replay, in order; `-` is standard input.
    case files([String])
    /// The configured changesets topic.
    case topic
  }

  /// Reads all changesets.
  ///
  /// - Parameter tell: called with each fault as a line.
  /// - Throws: ``ReplayError`` for files that cannot be read; ``ConfigurationError`` and ``DaemonError`` for a topic.
  ///   Faults in changesets are reported and counted, not thrown.
  package static func run(
    _ configuration: FeedStoreConfiguration,
    input: Input,
    log: Log,
    tell: @escaping @Sendable (String) -> Void
  ) async throws -> VerificationReport {
    let started = MonotonicClock.nanoseconds()
    var options = VerificationOptions(
      keyframes: configuration.store.keyframe,
      output: configuration.store.output,
      mayBeCompacted: input == .topic
    )
    options.requiresPlans = input != .topic
    let verifier: FaultReporter
    switch input {
    case .files(let paths):
      verifier = FaultReporter(options, tell) { location in
        let path = paths[location.source]
        return "\(path == "-" ? "standard input" : path):\(location.position)"
      }
      try verifier.verify {
        try FileVerification(paths: paths, topics: configuration.store.topics).run(verifier)
      }
    case .topic:
      let topic = configuration.store.topics.changesets
      verifier = FaultReporter(options, tell) { "\(topic) [\($0.source)], offset \($0.position)" }
      // The caller waits, and uses the value only afterwards.
      nonisolated(unsafe) let verifier = verifier
      try await WorkerThread.withKafka("verify", configuration) { settings in
        try verifier.verify { try TopicVerification(settings, configuration, log: log).run(verifier) }
      }
    }
    return VerificationReport(
      counts: verifier.counts,
      faults: verifier.faults,
      interruption: verifier.interruption,
      nanoseconds: MonotonicClock.nanoseconds() - started
    )
  }
}

/// The result of a verification: the counts, and the number of faults.
package struct VerificationReport: Sendable {
  package let counts: VerificationCounts
  /// The reported faults: the first of each feed, and of invalid lines.
  package let faults: Int
  /// A message if a signal ended the verification early.
  package let interruption: String?
  package let nanoseconds: Int64

  package var isRight: Bool { faults == 0 && interruption == nil }

  /// The report as text, for standard error.
  package var text: String {
    var table = ReportTable("verify")
    table.add("records", count: counts.records)
    for mode in ChangesetMode.allCases {
      table.add("  " + mode.rawValue, count: counts.changesets[mode] ?? 0)
    }
    table.add("  keyframes", count: counts.keyframes)
    table.add("  nulls", count: counts.nulls)
    table.add("feeds at the end", count: counts.feeds)
    table.add("feeds with a fault", count: counts.faultyFeeds)
    table.add("records not checked", count: counts.recordsPassedOver)
    table.add("faults", count: faults)
    table.add("bytes", bytes: counts.bytes)
    table.add("time", nanoseconds: nanoseconds)
    table.add("rate", count: counts.records, perNanoseconds: nanoseconds)
    return table.text + (interruption.map { $0 + "\n" } ?? "")
  }
}

/// A verifier that reports faults as lines with their positions.
final class FaultReporter {
  private let verifier: ChangesetVerifier
  private let tell: (String) -> Void
  private let text: (VerificationLocation) -> String
  private(set) var faults = 0
  private(set) var interruption: String?

  /// - Parameter text: names a position: a file and a line, or a partition and an offset.
  init(
    _ options: VerificationOptions,
    _ tell: @escaping (String) -> Void,
    text: @escaping (VerificationLocation) -> String
  ) {
    verifier = ChangesetVerifier(options)
    self.tell = tell
    self.text = text
  }

  var counts: VerificationCounts { verifier.counts }

  func check(_ record: VerifiedRecord, in partition: Int32) {
    for fault in verifier.check(record, in: partition) { report(fault) }
  }

  /// Runs a body that checks all records, up to an interruption.
  func verify(_ body: () throws -> Void) throws {
    do {
      try body()
      for fault in verifier.finish() { report(fault) }
    } catch let error as ReplayError where error.code == .interrupted {
      interruption = error.message
    }
  }

  private func report(_ fault: VerificationFault) {
    report(
      fault.feed.map { "feed \($0.debugDescription): \(fault.message)" } ?? fault.message,
      at: fault.location
    )
  }

  func report(_ message: String, at location: VerificationLocation) {
    faults += 1
    // Ids and keys may contain any bytes.
    tell(UpdateText.printable(UpdateText.cut("\(text(location)): \(message)", most: UpdateText.mostLine)))
  }
}
