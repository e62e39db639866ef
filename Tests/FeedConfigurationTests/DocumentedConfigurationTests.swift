import FeedConfiguration
import FeedTestSupport
import Oracle
import Service
import Testing

/// The tables in docs/settings.md have every key with its default, and docs/ingest.md has every field of a mapping.
@Suite struct DocumentedConfigurationTests {
  private static let folder = {
    let package = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    return "/\(package)/docs"
  }()

  @Test func `the table has every key with its default`() throws {
    let rows = try rows(of: "settings.md")
    #expect(Set(rows.map(\.key)) == Set(FeedStoreConfiguration.keys))
    #expect(rows.count == FeedStoreConfiguration.keys.count)
    let assignments = rows.map { "\($0.key)=\($0.value)" }
    let configuration = try ConfigurationSources(assignments: assignments).load().configuration
    #expect(configuration == FeedStoreConfiguration())
  }

  @Test(arguments: [IngestSource.table, IngestOrderKey.table, IngestTest.table])
  func `the page of ingest has the fields of a mapping as they are declared`(_ table: String) throws {
    let page = try #require(String(validating: readFile("\(Self.folder)/ingest.md"), as: UTF8.self))
    let head = "\n| field | values | default | meaning |\n|---|---|---|---|\n"
    #expect(page.contains(head + table + "\n\n"), "docs/ingest.md must have this table:\n\(table)")
  }

  /// The rows of a page with keys, without patterns such as `kafka.*`.
  private func rows(of page: String) throws -> [(key: String, value: String)] {
    let text = try #require(String(validating: readFile("\(Self.folder)/\(page)"), as: UTF8.self))
    return text.split(separator: "\n").compactMap { line in
      guard line.hasPrefix("| `"), !line.contains(".*` |") else { return nil }
      let cells = line.split(separator: "|").map { $0.filter { $0 != " " && $0 != "`" } }
      return (cells[0], cells[1])
    }
  }
}
