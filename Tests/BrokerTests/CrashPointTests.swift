import FeedWorker
import ObservationSupport
import Oracle
import ProcessSupport
import Testing

extension OnCluster {
  /// Crashes at every critical point.
  @Suite(.serialized) struct CrashPointTests {
    @Test(arguments: CrashPoint.all)
    func `a crash within the work loses and repeats nothing`(point: CrashPoint) async throws {
      try await BrokerRun.on(point.label) { run in
        var random = SplitMix64(seed: run.seed)
        // A restore happens only if something was published before.
        if point.isInRestoration {
          run.load.start()
          let first = try run.start()
          try await run.waitForRecords(100)
          try await run.stop(first)
        }
        let times = point.isInRestoration ? 1 + random.below(3) : 1 + random.below(40)
        let doomed = try run.start(crash: "\(point.name):\(times)")
        run.load.start()
        try await run.waitForEnd(of: doomed)
        try BrokerFailure.check(doomed.end == .killed(signal: 9), "\(doomed.name): \(doomed.endText)")
        let heir = try run.start()
        try await run.waitForRecords(of: [heir])
        try await run.waitForRecords(100)
      }
    }
  }
}

/// A point at which a daemon can be ended without warning.
struct CrashPoint: Sendable, CustomTestStringConvertible {
  let point: CrashInjection.Point

  static let all = CrashInjection.Point.allCases.map { CrashPoint(point: $0) }

  var name: String { point.rawValue }
  var label: String { "crash-" + name }
  var isInRestoration: Bool { point == .inRestore }
  var testDescription: String { name }
}
