import FeedWorker
import Testing

/// A point at which a daemon can be ended without warning.
struct CrashPoint: Sendable, CustomTestStringConvertible {
  let point: CrashInjection.Point

  static let all = CrashInjection.Point.allCases.map { CrashPoint(point: $0) }

  var name: String { point.rawValue }
  var label: String { "crash-" + name }
  var isInRestoration: Bool { point == .inRestore }
  var testDescription: String { name }
}
