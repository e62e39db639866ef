import FeedPipeline
import FeedStore
import FoundationEssentials
import Testing

/// What docs/protocol.md shows as the output of its example is the output.
@Suite struct DocumentedExampleTests {
  private static let page: String = {
    let package = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    return "/\(package)/docs/protocol.md"
  }()

  @Test func theExampleInTheProtocolIsWhatReplayWrites() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "feedstore-example-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let input = directory.appending(path: "input.ndjson").path
    let output = directory.appending(path: "output.ndjson").path
    let rejected = directory.appending(path: "rejected.ndjson").path

    let page = try text(of: Self.page)
    try Data(block("input", of: page).utf8).write(to: URL(filePath: input))
    let replay = Replay(inputs: [input], output: output, rejected: rejected, options: FeedStoreOptions())
    _ = try await replay.run()

    #expect(try text(of: output) == block("output", of: page))
    #expect(try text(of: rejected) == block("rejected", of: page))
  }

  private func text(of path: String) throws -> String {
    try #require(String(validating: readFile(path), as: UTF8.self))
  }

  /// The lines of the fenced block that is marked `ndjson` and with a name.
  private func block(_ name: String, of page: String) throws -> String {
    let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
    let fence = try #require(lines.firstIndex(of: "```ndjson \(name)"), "no block is marked `ndjson \(name)`")
    let content = lines[(fence + 1)...].prefix { $0 != "```" }
    return content.map { $0 + "\n" }.joined()
  }
}
