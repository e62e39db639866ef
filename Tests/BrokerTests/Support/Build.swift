import FeedTestSupport
import Foundation
import ObservationSupport

/// A build of the command.
enum Build: String, Sendable, CaseIterable {
  /// Of an earlier commit; `Tests/SuiteRunner/earlier_build.py` builds it.
  case earlier
  /// Of this commit, with the tests.
  case current

  /// - Throws: an error if it is not built.
  var command: URL {
    get throws {
      switch self {
      case .current: return try BuiltCommand.url
      case .earlier:
        guard let path = TestCluster.earlierCommand else {
          throw BrokerFailure("FEEDSTORE_TEST_EARLIER names no earlier build; run: make test-upgrade")
        }
        return URL(fileURLWithPath: path)
      }
    }
  }

  /// The other one.
  var other: Build { self == .earlier ? .current : .earlier }

  /// A configuration as options of the command line.
  static func options(_ settings: [String: String]) -> [String] {
    settings.sorted { $0.key < $1.key }.flatMap { ["--set", "\($0.key)=\($0.value)"] }
  }
}
