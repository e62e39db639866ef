import ChangesetTestSupport
import Diagnostics
import FeedStore
import FeedTestSupport
import Oracle
import Synchronization
import Testing

@testable import FeedConfiguration
@testable import FeedTools

/// The output of a replay, to verify unchanged or with changes.
struct VerifiedReplay {
  private let folder: TemporaryFolder
  let options: FeedStoreOptions
  /// The lines that the replay wrote.
  let lines: [String]

  static let quiet = Log(level: .error, output: DiagnosticOutput(isTerminal: false) { _ in })

  init(_ input: [String], _ options: FeedStoreOptions) async throws {
    folder = try TemporaryFolder()
    self.options = options
    let run = try await ReplayRun(input.joined(separator: "\n").utf8, options)
    lines = run.output.split(separator: "\n").map(String.init)
  }

  /// Random records, replayed.
  init(seed: UInt64, _ setting: RandomSetting, count: Int, hasContents: Bool = false) async throws {
    var storeOptions = setting.options
    if hasContents { storeOptions.topics.contents = "feeds.contents" }
    var options = setting.generatorOfLargeFeeds
    options.hasContents = hasContents
    if seed.isMultiple(of: 2) { options.addOrders() }
    options.hasEnds = seed.isMultiple(of: 3)
    var generator = RecordGenerator(seed: seed, options: options)
    let input = generator.records(count).compactMap(\.replayLine).map { String(decoding: $0, as: UTF8.self) }
    try await self.init(input, storeOptions)
  }

  /// Verifies these lines as a file.
  ///
  /// - Returns: the reported faults, with lines as positions, and the report.
  func verify(_ lines: [String]) async throws -> (told: [String], report: VerificationReport) {
    let path = try folder.file("verified", lines.map { $0 + "\n" }.joined().utf8)
    return try await Self.verify([path], options)
  }

  static func verify(
    _ paths: [String],
    _ options: FeedStoreOptions
  ) async throws
    -> (told: [String], report: VerificationReport)
  {
    var configuration = FeedStoreConfiguration()
    configuration.store = options
    let told = Mutex<[String]>([])
    let report = try await Verification.run(configuration, input: .files(paths), log: quiet) { line in
      told.withLock { $0.append(line) }
    }
    // Without the path of the folder.
    return (told.withLock { $0 }.map { $0.replacing(/^.*\/verified:/, with: "") }, report)
  }

  /// The lines with consecutive offsets, so that offsets do not reveal a change.
  static func renumbered(_ lines: [String]) -> [String] {
    // Made once: that takes longer than a match.
    let position = /"partition":([0-9]+),"offset":[0-9]+/
    var offsets: [Substring: Int] = [:]
    return lines.map { line in
      guard let match = line.firstMatch(of: position) else { return line }
      let offset = offsets[match.1, default: 0]
      offsets[match.1] = offset + 1
      return line.replacingCharacters(match, "\"partition\":\(match.1),\"offset\":\(offset)")
    }
  }
}

extension String {
  fileprivate func replacingCharacters(_ match: Regex<(Substring, Substring)>.Match, _ text: String) -> String
  {
    var copy = self
    copy.replaceSubrange(match.range, with: text)
    return copy
  }
}
