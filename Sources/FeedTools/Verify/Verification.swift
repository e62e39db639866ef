import Feed
package import FeedConfiguration
import FeedKafka
import FeedStore
package import FeedVerification
import Kafka
package import Service

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
      verifier = FaultReporter(options, .files(paths), tell)
      try FileVerification(paths: paths, topics: configuration.store.topics).run(verifier)
    case .topic:
      verifier = FaultReporter(options, .topic(configuration.store.topics.changesets), tell)
      // This waits, and uses it only afterwards.
      nonisolated(unsafe) let verifier = verifier
      try await WorkerThread.withKafka("verify", configuration) { settings in
        try TopicVerification(settings, configuration, log: log).run(verifier)
      }
    }
    verifier.finish()
    return VerificationReport(
      counts: verifier.counts,
      faults: verifier.faults,
      nanoseconds: MonotonicClock.nanoseconds() - started
    )
  }
}

/// The result of a verification: what was verified, and the number of faults.
package struct VerificationReport: Sendable {
  package let counts: VerificationCounts
  /// The reported faults: the first of each feed, and of invalid lines.
  package let faults: Int
  package let nanoseconds: Int64

  package var isRight: Bool { faults == 0 }

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
    return table.text
  }
}

/// A verifier that reports faults as lines with their positions.
final class FaultReporter {
  /// How to name positions.
  enum Places {
    /// By file and line.
    case files([String])
    /// By partition of this topic and offset.
    case topic(String)

    func text(of place: VerificationPlace) -> String {
      switch self {
      case .files(let paths):
        let path = paths[place.source]
        return "\(path == "-" ? "standard input" : path):\(place.position)"
      case .topic(let topic): return "\(topic) [\(place.source)], offset \(place.position)"
      }
    }
  }

  private let verifier: ChangesetVerifier
  private let places: Places
  private let tell: (String) -> Void
  private(set) var faults = 0

  init(_ options: VerificationOptions, _ places: Places, _ tell: @escaping (String) -> Void) {
    verifier = ChangesetVerifier(options)
    self.places = places
    self.tell = tell
  }

  var counts: VerificationCounts { verifier.counts }

  func check(_ record: VerifiedRecord, in partition: Int32) {
    for fault in verifier.check(record, in: partition) { report(fault) }
  }

  func finish() {
    for fault in verifier.finish() { report(fault) }
  }

  private func report(_ fault: VerificationFault) {
    report(
      fault.feed.map { "feed \($0.debugDescription): \(fault.message)" } ?? fault.message,
      at: fault.place
    )
  }

  func report(_ message: String, at place: VerificationPlace) {
    faults += 1
    // Ids and keys may have anything in them.
    tell(UpdateText.printable("\(places.text(of: place)): \(message)"))
  }
}
