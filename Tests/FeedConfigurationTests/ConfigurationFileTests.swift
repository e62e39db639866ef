import FeedConfiguration
import FeedTestSupport
import Oracle
import Service
import Testing

/// The shipped configuration file agrees with the code.
@Suite struct ConfigurationFileTests {
  private static let file: String = {
    let package = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    return "/\(package)/config/feedstore.json5"
  }()

  @Test func `its values are the defaults`() throws {
    #expect(try ConfigurationSources(file: Self.file).load().configuration == FeedStoreConfiguration())
  }

  @Test func `it has exactly the known keys`() throws {
    let document = try ConfigurationDocument(file: Self.file)
    #expect(Set(document.entries.keys) == Set(FeedStoreConfiguration.keys))
  }

  @Test func `every key has a comment above it`() throws {
    let lines = try fileLines()
    let document = try ConfigurationDocument(file: Self.file)
    for (key, entry) in document.entries {
      let number = try #require(entry.place.split(separator: ":").last.flatMap { Int($0) })
      #expect(lines[number - 2].contains("//"), "\(key) has no comment above line \(number)")
    }
  }

  private func fileLines() throws -> [Substring] {
    let text = try String(decoding: readFile(Self.file), as: UTF8.self)
    return text.split(separator: "\n", omittingEmptySubsequences: false)
  }
}
