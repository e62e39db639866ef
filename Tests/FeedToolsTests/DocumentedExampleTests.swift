import Feed
import FeedStore
import FeedTestSupport
import Foundation
import Oracle
import Testing

@testable import FeedTools

/// The outputs of the examples in docs/protocol.md are correct. `FEEDSTORE_UPDATE_GOLDEN=1` rewrites them in the page;
/// review the difference.
@Suite(.serialized) struct DocumentedExampleTests {
  private static let page: String = {
    let package = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    return "/\(package)/docs/protocol.md"
  }()

  /// A fenced block: ```` ```ndjson NAME.PART KEY=VALUE… ````, without a name for the worked example.
  private struct Block {
    let name: String
    let part: String
    let settings: [(key: String, value: String)]
    let lines: Range<Int>
  }

  private static func blocks(of lines: [Substring]) -> [Block] {
    var blocks: [Block] = []
    for (number, line) in lines.enumerated() where line.hasPrefix("```ndjson ") {
      let words = line.split(separator: " ").dropFirst()
      let name = words.first.map { $0.split(separator: ".").map(String.init) } ?? []
      let end = lines[(number + 1)...].firstIndex(of: "```") ?? lines.endIndex
      blocks.append(
        Block(
          name: name.count > 1 ? name[0] : "",
          part: name.last ?? "",
          settings: words.dropFirst().map { word in
            let sides = word.split(separator: "=").map(String.init)
            return (sides[0], sides[1])
          },
          lines: (number + 1)..<end
        )
      )
    }
    return blocks
  }

  private static func text(of path: String) throws -> String {
    try #require(String(validating: readFile(path), as: UTF8.self))
  }

  /// The names of the examples.
  private static let names: [String] = {
    let lines = ((try? text(of: page)) ?? "").split(separator: "\n", omittingEmptySubsequences: false)
    return blocks(of: lines).filter { $0.part == "input" }.map(\.name)
  }()

  @Test func `the page has examples`() {
    let expected = ["", "ordered", "ends", "contents", "split", "shrink", "leftover", "patch"]
    #expect(Set(Self.names) == Set(expected))
  }

  @Test(arguments: names)
  func `an example in the protocol equals the output of a replay`(name: String) async throws {
    var lines = try Self.text(of: Self.page).split(separator: "\n", omittingEmptySubsequences: false)
    let blocks = Self.blocks(of: lines).filter { $0.name == name }
    let input = try #require(blocks.first { $0.part == "input" })
    var options = FeedStoreOptions()
    for (key, value) in input.settings {
      switch key {
      case "output.maxMessageBytes": options.output.maxMessageBytes = try #require(Int(value))
      case "keyframe.maxDeltas": options.keyframe.maxDeltas = try #require(Int(value))
      case "topics.contents": options.topics.contents = value
      default: Issue.record("examples do not use the setting \(key); add it to the test")
      }
    }
    let run = try await ReplayRun(Self.text(lines[input.lines]).utf8, options)
    // From the last to the first, so that the positions of the others stay valid.
    for block in blocks.reversed() where block.part != "input" {
      let found = block.part == "rejected" ? run.rejected : run.output
      if ProcessInfo.processInfo.environment["FEEDSTORE_UPDATE_GOLDEN"] != nil {
        lines.replaceSubrange(block.lines, with: found.split(separator: "\n"))
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: Self.page))
      } else {
        #expect(found == Self.text(lines[block.lines]), "FEEDSTORE_UPDATE_GOLDEN=1 rewrites it")
      }
    }
  }

  @Test func `the terms of the checksum are correct`() throws {
    let lines = try Self.text(of: Self.page).split(separator: "\n", omittingEmptySubsequences: false)
    let block = try #require(Self.blocks(of: lines).first { $0.name == "checksum" })
    var sum: UInt32 = 0
    for line in lines[block.lines] {
      let json = try OracleJSON.parse(Array(line.utf8))
      let hash = OracleXXH32.hash(try #require(json.last("text")?.string))
      #expect(json.last("xxh32")?.string == Array(OracleChecksum.text(hash).utf8))
      sum &+= hash
    }
    #expect(OracleChecksum.text(sum) == "af62216f")
  }

  private static func text(_ lines: ArraySlice<Substring>) -> String { lines.map { $0 + "\n" }.joined() }
}
