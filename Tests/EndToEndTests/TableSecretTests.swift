import FeedTestSupport
import Foundation
import Testing

/// The order of hash tables differs between processes, because their seed is random. The output must not depend on it.
struct TableSecretTests {
  @Test(arguments: 1...2 as ClosedRange<UInt64>)
  func `every process writes the same bytes for the same records`(seed: UInt64) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tables-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var generator = RecordGenerator(seed: seed)
    let lines = generator.records(3_000).compactMap(\.replayLine).map { Data($0) + Data("\n".utf8) }
    try lines.reduce(Data(), +).write(to: folder.appendingPathComponent("in"))

    func output() throws -> [Data] {
      let arguments = ["replay", "in", "--output", "out", "--rejected", "rejected"]
      let run = try CommandRun(arguments, in: folder)
      #expect(run.exitCode == 0, "seed \(seed): \(run.error)")
      return try ["out", "rejected"].map { try Data(contentsOf: folder.appendingPathComponent($0)) }
    }
    let first = try output()
    #expect(first.allSatisfy { !$0.isEmpty })
    for _ in 0..<4 { #expect(try output() == first, "seed \(seed)") }
  }
}
