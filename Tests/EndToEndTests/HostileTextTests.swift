import FeedTestSupport
import Foundation
import Oracle
import Testing

@testable import Feed

/// The built command with texts that are designed to break a parser.
final class HostileTextTests {
  private let files: TemporaryFolder
  private var folder: URL { files.url }

  init() throws { files = try TemporaryFolder() }

  private func write(_ lines: [[UInt8]]) throws {
    _ = try files.file("input.ndjson", lines.joined(separator: [0x0A]))
  }

  private func read(_ name: String) throws -> String { try files.read(name) }

  @Test func `nesting of ten thousand levels does not overflow the stack`() throws {
    let depth = 9_990
    func nested(_ name: String, _ value: String) -> String {
      String(repeating: "{\"\(name)\": ", count: depth) + value + String(repeating: "}", count: depth)
    }
    let events = [
      #"{"op":"section.upsert","section":"s","data":\#(nested("a", "1"))}"#,
      #"{"op":"item.upsert","item":"i","section":"s","data":\#(nested("a", "1"))}"#,
      #"{"op":"item.patch","item":"i","data":\#(nested(#"\u0061"#, "2"))}"#,
      #"{"op":"item.patch","item":"i","data":\#(nested("b", "{\"c\":null}"))}"#,
      #"{"op":"item.upsert","item":"j","section":"s","data":\#(nested("a", nested("b", "1")))}"#,
    ]
    try write(events.map { Array(#"{"key":"f","x":\#(nested("x", "0")),"value":\#($0)}"#.utf8) })
    let arguments = ["--set", "limits.maxDepth=10000", "--set", "coalesce.window=0"]
    let replay = try CommandRun(
      ["replay", "input.ndjson", "--output", "output.ndjson", "--rejected", "rejected.ndjson"] + arguments,
      in: folder,
      stackKilobytes: 256
    )
    #expect(replay.exitCode == 0, "\(replay.error)")
    // `String.contains` would take a minute.
    let output = try Data(contentsOf: folder.appendingPathComponent("output.ndjson"))
    let patched = [nested(#"\u0061"#, "2").dropLast(), nested("b", "{}").dropFirst()].joined(separator: ",")
    #expect(output.range(of: Data(patched.utf8.filter { $0 != 0x20 })) != nil)
    #expect(try read("rejected.ndjson").contains("is nested 19981 deep"))
    let verify = try CommandRun(["verify", "output.ndjson"] + arguments, in: folder, stackKilobytes: 256)
    #expect(verify.exitCode == 0, "\(verify.output) \(verify.error)")
  }

  /// Records with values that are JSON, invalid, or not UTF-8.
  private func hostileLines() -> [[UInt8]] {
    let tails: [[UInt8]] = [
      [], [0xC3], [0xE2, 0x82], [0xF0, 0x9F, 0x98], [0x80], [0xC0, 0x80], [0xED, 0xA0, 0x80],
      [0xF4, 0x90, 0x80, 0x80],
      [0xFF], [0x7F], Array(#"\u000c"#.utf8), Array(#"\u001a"#.utf8), Array(#"\\"#.utf8), Array(#"\""#.utf8),
      Array(#"\\\""#.utf8),
      Array(#"\ud83d"#.utf8), Array(#"\u0000"#.utf8), Array("é".utf8),
    ]
    var lines: [[UInt8]] = []
    for (number, tail) in tails.enumerated() {
      for length in [0, 1, 60, 63, 64, 65, 127, 128, 129] {
        let filling =
          Array(String(repeating: "é", count: length / 2).utf8) + Array("x".utf8).prefix(length % 2)
        let event = Array(
          #"{\"op\":\"item.upsert\",\"section\":\"s\",\"item\":\"i\#(number)\",\"data\":\""#.utf8
        )
        let ends: [[UInt8]] = [tail, tail + Array(#"\"}"#.utf8), Array(#"\"}"#.utf8) + tail]
        for end in ends {
          lines.append(Array(#"{"key":"f","payload":""#.utf8) + event + filling + end + Array("\"}".utf8))
        }
      }
    }
    return lines
  }

  @Test func `hostile texts in strings of texts are rejected, and others applied`() throws {
    try write(hostileLines())
    let run = try CommandRun(
      ["replay", "input.ndjson", "--output", "output.ndjson", "--rejected", "rejected.ndjson"],
      in: folder
    )
    #expect(run.exitCode == 0, "\(run.error)")
    let (output, rejected) = (try read("output.ndjson"), try read("rejected.ndjson"))
    #expect(output.contains("\"insert\"") || output.contains("\"items\""))
    for code in ["invalid-utf8", "invalid-json"] { #expect(rejected.contains(code)) }
  }
}
