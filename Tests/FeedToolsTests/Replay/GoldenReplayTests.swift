import FeedStore
import FeedTestSupport
import Foundation
import Oracle
import Testing

@testable import FeedConfiguration
@testable import FeedTools

/// Replays the files under Golden, and compares the output with the recorded one. `FEEDSTORE_UPDATE_GOLDEN=1` rewrites
/// the recorded output; review the difference.
@Suite struct GoldenReplayTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Golden")

  private static let names: [String] = {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return [".input.ndjson", ".rows.ndjson"].flatMap { ending in
      files.filter { $0.hasSuffix(ending) }.map { String($0.dropLast(ending.count)) }
    }.sorted()
  }()

  private func configuration(_ name: String) throws -> FeedStoreConfiguration {
    let file = Self.folder.appendingPathComponent("\(name).config.json5")
    let path = FileManager.default.fileExists(atPath: file.path) ? file.path : nil
    return try ConfigurationSources(file: path).load().configuration
  }

  @Test func `there are golden replays`() { #expect(Self.names.count >= 4) }

  @Test(arguments: names)
  func `a replay writes the recorded output`(name: String) async throws {
    let temporary = try TemporaryFolder()
    let configuration = try configuration(name)
    let hasRows = !configuration.ingest.sources.isEmpty
    let input = Self.folder.appendingPathComponent("\(name).\(hasRows ? "rows" : "input").ndjson")
    var replay = Replay(
      [input.path],
      to: temporary.path("output"),
      rejected: temporary.path("rejected"),
      configuration.store
    )
    if hasRows { replay.ingest = configuration.ingest }
    _ = try await replay.run()
    for part in ["output", "rejected"] {
      let expectation = Self.folder.appendingPathComponent("\(name).\(part).ndjson")
      let actual = try temporary.read(part)
      if ProcessInfo.processInfo.environment["FEEDSTORE_UPDATE_GOLDEN"] != nil {
        try Data(actual.utf8).write(to: expectation)
      }
      let expected = try String(contentsOf: expectation, encoding: .utf8)
      #expect(actual == expected, "\(name).\(part).ndjson; FEEDSTORE_UPDATE_GOLDEN=1 rewrites it")
    }
  }
}
