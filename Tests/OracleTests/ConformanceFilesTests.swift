import ConformanceSupport
import Foundation
import Oracle
import Testing

/// The generated files in `conformance` equal the oracle's output. `FEEDSTORE_WRITE_CONFORMANCE=1` (`make conformance`)
/// rewrites them; review the difference.
@Suite struct ConformanceFilesTests {
  private static let vectors = Result { try ConformanceVectors() }
  private static let table = Result { try RuleTable(vectors.get()) }

  @Test func `vectors notice all rules but those of which it says why not`() throws {
    let table = try Self.table.get()
    for rule in Rule.allCases {
      let names = table.noticing[rule, default: []]
      #expect(names.isEmpty == (Rule.unseen[rule] != nil), "\(rule): \(rule.rawValue): \(names)")
    }
    #expect(Rule.unseen.count * 20 <= Rule.allCases.count)
  }

  @Test func `the files equal the oracle's output`() throws {
    let files = try Self.vectors.get().files(Self.table.get())
    let writes = ProcessInfo.processInfo.environment["FEEDSTORE_WRITE_CONFORMANCE"] != nil
    for (name, expected) in files {
      let url = ConformanceFiles.folder.appendingPathComponent(name)
      if writes {
        try FileManager.default.createDirectory(
          at: url.deletingLastPathComponent(),
          withIntermediateDirectories: true
        )
        try Data(expected).write(to: url)
      }
      let isThere = (try? Data(contentsOf: url)) == Data(expected)
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
