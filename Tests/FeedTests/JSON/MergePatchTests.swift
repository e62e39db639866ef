import Oracle
import Testing

@testable import Feed

@Suite struct MergePatchTests {
  /// The result, after a check that the work is proportional to the texts: each byte is scanned once, and a member,
  /// which has at least five bytes, is compared with at most fourteen names.
  private func patched(_ target: String, _ patch: String) -> String {
    var mergePatch = MergePatch()
    let result = withSpan(target) { target in
      withSpan(patch) { patch in written { mergePatch.apply(patch, to: target, into: $0) } }
    }
    let bytes = target.utf8.count + patch.utf8.count
    #expect(mergePatch.steps <= 5 * bytes, "\(mergePatch.steps) steps for \(bytes) bytes")
    return result
  }

  /// Creates targets and patches with many common names.
  private struct ObjectGenerator {
    var random: SplitMix64
    let names: [String]
    /// The maximum number of members of an object, by its depth; deeper ones have none.
    let widths: [Int]
    /// The percentage of objects among values at depths with objects.
    let objectPercent: Int

    mutating func value(_ depth: Int) -> String {
      if depth < widths.count, random.chance(objectPercent) { return object(depth) }
      return random.pick([
        "null", "0.0", "1.0", "1.00", #""\u0041""#, #""A""#, "[]", "{}", #"[null,{"a":null,"a":{}}]"#,
        #""}{\\""#, "true",
      ])
    }

    mutating func object(_ depth: Int) -> String {
      let members = (0..<random.below(widths[depth] + 1)).map { _ in
        "\"\(names[random.below(names.count)])\":\(value(depth + 1))"
      }
      return "{\(members.joined(separator: ","))}"
    }
  }

  private static let spelledNames = [
    "a", "b", "c", #"\u0061"#, #"\u0062"#, "d e", "", #"\""#, #"\u0022"#, #"\\"#, "é", #"\u00e9"#, "😀",
    #"\ud83d\ude00"#,
  ]

  private static let shapes: [(names: [String], widths: [Int], objectPercent: Int)] = [
    (spelledNames, [30, 4, 4, 3], 40),
    // Of many members at each level, so that names are looked up in an index.
    (spelledNames + (0..<40).map { "n\($0)" }, [60, 40, 20], 40),
    (["a", #"\u0061"#], [3, 3, 3, 3, 3, 3, 3], 80),
    // Deep and narrow.
    (["a", #"\u0061"#, "b"], Array(repeating: 2, count: 100), 98),
    // Mostly duplicates.
    (["a", "b"], [40, 16, 16], 60),
  ]

  @Test(arguments: RandomCases.seeds(1...5), shapes.indices)
  func `random patches come to what the oracle says`(seed: UInt64, shape: Int) throws {
    let shape = Self.shapes[shape]
    var generator = ObjectGenerator(
      random: SplitMix64(seed: seed),
      names: shape.names,
      widths: shape.widths,
      objectPercent: shape.objectPercent
    )
    for _ in 0..<150 {
      let target = generator.random.chance(4) ? generator.value(0) : generator.object(0)
      let patch = generator.random.chance(4) ? generator.value(0) : generator.object(0)
      let expected = OracleMergePatch.merge(
        try OracleJSON.parse(Array(patch.utf8)),
        into: try OracleJSON.parse(Array(target.utf8))
      )
      guard patched(target, patch) == String(decoding: expected, as: UTF8.self) else {
        Issue.record("seed \(seed): \(patched(target, patch)) of \(target) with \(patch)")
        return
      }
      // A patch leaves nothing behind for the next one.
      #expect(patched(target, "{}") == (target.hasPrefix("{") ? target : "{}"))
    }
  }

  @Test func `one patch leaves nothing to the next`() throws {
    var mergePatch = MergePatch()
    var generator = ObjectGenerator(
      random: SplitMix64(seed: 9),
      names: Self.spelledNames + (0..<40).map { "n\($0)" },
      widths: [40, 30],
      objectPercent: 40
    )
    for _ in 0..<100 {
      let (target, patch) = (generator.object(0), generator.object(0))
      let result = withSpan(target) { target in
        withSpan(patch) { patch in written { mergePatch.apply(patch, to: target, into: $0) } }
      }
      #expect(result == patched(target, patch))
    }
  }

  private static func nested(_ name: String, _ value: String, depth: Int) -> String {
    String(repeating: "{\"\(name)\":", count: depth) + value + String(repeating: "}", count: depth)
  }

  @Test
  func `names spelled differently at every level become those of the patch if the innermost value changes`() {
    let depth = 10_000
    let (target, other) = (Self.nested("a", "1", depth: depth), Self.nested(#"\u0061"#, "1", depth: depth))
    #expect(
      patched(target, Self.nested(#"\u0061"#, "2", depth: depth))
        == Self.nested(#"\u0061"#, "2", depth: depth)
    )
    #expect(patched(target, other) == target)
    #expect(patched("{}", other) == other)
    #expect(
      patched(target, Self.nested(#"\u0061"#, "null", depth: depth))
        == Self.nested(#"\u0061"#, "{}", depth: depth - 1)
    )
  }

  @Test(arguments: [1, 10, 100, 1000, 10_000])
  func `the work follows the length of the texts, not their depth`(depth: Int) {
    let filling = String(repeating: "x", count: 500_000 / depth)
    let part = #"{"p":"\#(filling)","a":"#
    let target = String(repeating: part, count: depth) + "1" + String(repeating: "}", count: depth)
    let result = String(repeating: part, count: depth) + "2" + String(repeating: "}", count: depth)
    #expect(patched(target, result) == result)
    #expect(patched(target, target) == target)
    #expect(patched(target, Self.nested("a", "2", depth: depth)) == result)
  }

  @Test func `the work follows the length of the texts, however often a name stands in them`() {
    let count = 3000
    let members = (0..<count).map { "\"n\($0)\":\($0)" }.joined(separator: ",")
    let object = "{\(members)}"
    // Each of the target's objects could be merged with all of the patch's members.
    let target = "{" + Array(repeating: "\"a\":{}", count: count).joined(separator: ",") + "}"
    #expect(patched(target, "{\"a\":\(object)}") == "{\"a\":\(object)}")
    #expect(patched("{\"a\":\(object)}", target) == "{\"a\":\(object)}")
    // The same names in many objects, each of which has many.
    let some = (0..<20).map { "\"n\($0)\":\($0)" }.joined(separator: ",")
    let many = "{" + (0..<count).map { "\"o\($0)\":{\(some)}" }.joined(separator: ",") + "}"
    #expect(patched(many, many) == many)
    #expect(patched("{}", many) == many)
  }
}
