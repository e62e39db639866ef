import FeedTestSupport
import Testing

@testable import Feed

@Suite struct JSONSinglePassTests {
  /// What the rest of the program reads of a text's index.
  private struct Index: Equatable {
    let offsets: [UInt32]
    /// Where each bracket that opens is closed.
    let closings: [UInt32: UInt32]
    let depth: Int
    let hasEscapes: Bool
    let ends: [Int]

    init(_ text: JSONText) {
      offsets = (0...text.offsetCount).map { text.offsets[$0] }
      let opening = (0..<text.offsetCount).filter { "{[".utf8.contains(text.character($0)) }
      closings = Dictionary(uniqueKeysWithValues: opening.map { (UInt32($0), text.closings[$0]) })
      depth = text.depth
      hasEscapes = text.hasEscapes
      ends = (0..<text.offsetCount).map(text.endOffset)
    }
  }

  /// A value of random nesting, with white space in some places.
  private func value(_ random: inout SplitMix64, depth: Int) -> String {
    let scalars = [
      "0", "-12", "1.50", "2e-7", "true", "false", "null", #""""#, #""a\"\\\u00e9\n""#, #""😀 und é""#,
      #""a string that is longer than a block of sixteen bytes""#,
    ]
    func space() -> String { random.below(12) == 0 ? [" ", "\n", "\t  "][random.below(3)] : "" }
    if depth == 0 || random.below(3) == 0 { return scalars[random.below(scalars.count)] }
    let isObject = random.below(2) == 0
    let members = (0..<random.below(5)).map { number in
      let name = isObject ? "\"name\(number)\"\(space()):\(space())" : ""
      return space() + name + value(&random, depth: depth - 1) + space()
    }
    return (isObject ? "{" : "[") + space() + members.joined(separator: ",") + (isObject ? "}" : "]")
  }

  @Test(arguments: RandomCases.seeds(1...4))
  func `a text that is read in a single pass has the index that simdjson and the walk make`(
    seed: UInt64
  ) throws {
    var random = SplitMix64(seed: seed)
    let kernel = try #require(JSONIndexer.kernels.first)
    let (single, other) = (JSONIndexer(), JSONIndexer(kernel: kernel))
    for _ in 0..<1000 {
      let text = "[" + value(&random, depth: 6) + #",{"and":"so on"}]"# + (random.below(4) == 0 ? " \n" : "")
      let indexes = try withSpan(Array(text.utf8)) { span in
        (Index(try single.validated(span)), Index(try other.validated(span)))
      }
      #expect(indexes.0 == indexes.1, "seed \(seed): \(text)")
    }
  }
}
