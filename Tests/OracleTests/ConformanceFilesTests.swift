import ConformanceSupport
import Foundation
import Oracle
import Testing

/// The generated files in `conformance` equal the oracle's output. `FEEDSTORE_WRITE_CONFORMANCE=1` (`make conformance`)
/// rewrites them; review the difference.
@Suite struct ConformanceFilesTests {
  private static let vectors = Result { try ConformanceVectors() }
  private static let writes = ProcessInfo.processInfo.environment["FEEDSTORE_WRITE_CONFORMANCE"] != nil
  private static let table = Result { try RuleTable(vectors.get(), isComplete: writes) }

  @Test func `vectors notice at least 97 of 100 rules that are left out`() throws {
    let table = try Self.table.get()
    let living = table.living
    #expect(RuleTable.planted.count >= 500)
    #expect(living.count * 100 <= RuleTable.planted.count * 3, "\(living.joined(separator: "\n"))")
    #expect(Rule.unseen.count * 20 <= Rule.allCases.count)
    for rule in Rule.unseen.keys {
      #expect(
        table.noticing[.rule(rule)] == nil,
        "\(rule.rawValue) is said to be one that no vector can notice"
      )
    }
  }

  /// The table without its last column.
  private static func rules(_ text: [UInt8]) -> [[UInt8]] {
    text.split(separator: UInt8(ascii: "\n")).map { line in
      let cells = line.split(separator: UInt8(ascii: "|"))
      return Array(cells.dropLast(cells.count > 1 ? 1 : 0).joined())
    }
  }

  @Test func `the files equal the oracle's output`() throws {
    let files = try Self.vectors.get().files(Self.table.get())
    let writes = Self.writes
    for (name, expected) in files {
      let url = ConformanceFiles.folder.appendingPathComponent(name)
      if writes {
        try FileManager.default.createDirectory(
          at: url.deletingLastPathComponent(),
          withIntermediateDirectories: true
        )
        try Data(expected).write(to: url)
      }
      let found = Array((try? Data(contentsOf: url)) ?? Data())
      // Which vectors come first takes minutes to find out.
      let isThere = found == expected || name == "rules.md" && Self.rules(found) == Self.rules(expected)
      #expect(isThere, "\(name) is not what the oracle makes; `make conformance` rewrites it")
    }
    let present = ["replica", "window"].flatMap { folder in
      ConformanceFiles.names(in: folder).map { "\(folder)/\($0)" }
    }
    let surplus = present.filter { files[$0] == nil }
    if writes {
      for name in surplus {
        try FileManager.default.removeItem(at: ConformanceFiles.folder.appendingPathComponent(name))
      }
    } else {
      #expect(surplus == [], "files that no vector has")
    }
  }
}
