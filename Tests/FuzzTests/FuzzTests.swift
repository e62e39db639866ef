import Foundation
import FuzzTargets
import Testing

/// Every target with its seeds and some random inputs, or for as long as `FEEDSTORE_FUZZ_SECONDS` says.
/// `FEEDSTORE_FUZZ_SEED` repeats the random inputs.
@Suite struct FuzzTests {
  private static let inputCount = 200

  private static func setting(_ name: String) -> String? {
    ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
  }

  private static var folder: URL {
    FuzzCorpus.folder.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent(".build/fuzz-inputs")
  }

  @Test(arguments: FuzzTarget.all)
  func `the properties of a parser hold for any input`(target: FuzzTarget) throws {
    let seed = Self.setting("FEEDSTORE_FUZZ_SEED").flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)
    let seconds = Self.setting("FEEDSTORE_FUZZ_SECONDS").flatMap { Double($0) }
    let clock = ContinuousClock()
    let end = clock.now.advanced(by: .seconds(seconds ?? 0))
    print("fuzzing \(target) with seed \(seed)")
    let count = try FuzzRun(target, keepingInputsIn: Self.folder).run(seed: seed) { count in
      seconds == nil ? count >= Self.inputCount : clock.now >= end
    }
    print("fuzzed \(target) with \(count) inputs")
  }

  @Test(arguments: FuzzTarget.all)
  func `a target has short seeds`(target: FuzzTarget) throws {
    let seeds = try FuzzCorpus.seeds(of: target)
    #expect(!seeds.isEmpty)
    for seed in seeds { #expect(seed.bytes.count <= 4096, "\(seed.name)") }
  }

  /// Otherwise a target could pass without checking anything.
  @Test func `a violated property is found, and the input is kept`() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("feedstore-fuzz-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let run = FuzzRun(.neverBraces, keepingInputsIn: folder)
    #expect(throws: FuzzRun.Found.self) { try run.run(seed: 1) { $0 >= 1000 } }
    let kept = try Data(contentsOf: folder.appendingPathComponent("fuzz-merge-patch"))
    #expect(kept.contains(UInt8(ascii: "{")))
  }
}
