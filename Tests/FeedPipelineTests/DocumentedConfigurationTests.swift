import FeedPipeline
import Service
import Testing

/// The table of the configuration in docs/protocol.md has every key with its default.
@Suite struct DocumentedConfigurationTests {
  private static let page: String = {
    let package = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    return "/\(package)/docs/protocol.md"
  }()

  @Test func theTableHasEveryKeyWithItsDefault() throws {
    let rows = try rows()
    #expect(Set(rows.map(\.key)) == Set(PipelineConfiguration.keys))
    #expect(rows.count == PipelineConfiguration.keys.count)
    let assignments = rows.map { "\($0.key)=\($0.value)" }
    #expect(try PipelineConfiguration.load(file: nil, assignments: assignments) == PipelineConfiguration())
  }

  /// The rows of the section "Configuration", but for that of librdkafka's own keys.
  private func rows() throws -> [(key: String, value: String)] {
    let text = try #require(String(validating: readFile(Self.page), as: UTF8.self))
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let heading = try #require(lines.firstIndex(of: "## Configuration"))
    return lines[(heading + 1)...].prefix { !$0.hasPrefix("## ") }.compactMap { line in
      guard line.hasPrefix("| `"), !line.hasPrefix("| `kafka.*") else { return nil }
      let cells = line.split(separator: "|").map { $0.filter { $0 != " " && $0 != "`" } }
      return (cells[0], cells[1])
    }
  }
}
