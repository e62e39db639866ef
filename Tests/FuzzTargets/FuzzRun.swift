public import Foundation
import Oracle

/// Runs a target with its seeds and random inputs, without coverage, within `swift test`.
public struct FuzzRun {
  /// Why a run ended early.
  public struct Found: Error, CustomStringConvertible {
    public let description: String
  }

  private let target: FuzzTarget
  private let file: URL

  /// - Parameter folder: where the input is written that reveals a bug.
  public init(_ target: FuzzTarget, keepingInputsIn folder: URL) {
    self.target = target
    file = folder.appendingPathComponent("fuzz-\(target.name)")
  }

  /// - Parameters:
  ///   - seed: the seed of the random choices.
  ///   - end: called after each input with their number; returns whether to end.
  /// - Returns: the number of inputs.
  public func run(seed: UInt64, until end: (Int) -> Bool) throws -> Int {
    try FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(),
      withIntermediateDirectories: true
    )
    try Data().write(to: file)
    let handle = try FileHandle(forWritingTo: file)
    let seeds = try FuzzCorpus.seeds(of: target)
    for (name, bytes) in seeds { try tryOut(bytes, handle, "the seed \(name)") }
    let mutator = InputMutator(target, seeds: seeds.map(\.bytes))
    var random = FuzzRandom(seed: seed)
    var count = 0
    while !end(count) {
      let input: [UInt8]
      if let generate = target.generate, random.chance(40) {
        input = generate(&random)
      } else {
        input = mutator.next(&random)
      }
      try tryOut(input, handle, "input \(count) of seed \(seed)")
      count += 1
    }
    try handle.close()
    try FileManager.default.removeItem(at: file)
    return count
  }

  private func tryOut(_ input: [UInt8], _ handle: FileHandle, _ which: String) throws {
    // Written before it is tried, so that it survives a crash.
    try handle.truncate(atOffset: 0)
    try handle.seek(toOffset: 0)
    try handle.write(contentsOf: Data(input))
    do throws(FuzzFailure) {
      try target.check(input)
    } catch {
      throw Found(
        description: """
          \(target.name), \(which): \(error)
          The input is in \(file.path); repeat it with: make fuzz TARGET=\(target.name) INPUT=\(file.path)
          """
      )
    }
  }
}
