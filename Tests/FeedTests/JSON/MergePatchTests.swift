import FeedTestSupport
import Testing

@testable import Feed

@Suite struct MergePatchTests {
  private func patched(_ target: String, _ patch: String) -> String {
    var mergePatch = MergePatch()
    return withSpan(target) { target in
      withSpan(patch) { patch in written { mergePatch.apply(patch, to: target, into: $0) } }
    }
  }

  @Test(arguments: [
    (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
    (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
    (#"{"a":"b"}"#, #"{"a":null}"#, "{}"),
    (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
    (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
    (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
    (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
    (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
    (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
    (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
    (#"{"a":"foo"}"#, "null", "null"),
    (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
    (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
    ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
    ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
  ])
  func `gives the results of the RFC's appendix`(target: String, patch: String, result: String) {
    #expect(patched(target, patch) == result)
  }

  @Test(arguments: [
    // What does not change keeps its place and spelling.
    (#"{"a":1.0,"b":"\u0041","c":2}"#, #"{"c":3}"#, #"{"a":1.0,"b":"\u0041","c":3}"#),
    (#"{"a":1.0}"#, #"{"a":1.00}"#, #"{"a":1.00}"#),
    (#"{"\u0061":1}"#, #"{"a":1}"#, #"{"\u0061":1}"#),
    (#"{"\u0061":1}"#, #"{"a":2}"#, #"{"a":2}"#),
    (#"{"\u0061":{"x":1}}"#, #"{"a":{"x":2}}"#, #"{"a":{"x":2}}"#),
    // Of duplicates the last is patched and the others go.
    (#"{"a":1,"b":2,"a":3}"#, #"{"a":4}"#, #"{"b":2,"a":4}"#),
    (#"{"a":1,"b":2,"a":3}"#, #"{"b":5}"#, #"{"a":1,"b":5,"a":3}"#),
    (#"{}"#, #"{"a":1,"b":2,"a":3}"#, #"{"b":2,"a":3}"#),
  ])
  func `keeps order and spelling`(target: String, patch: String, result: String) {
    #expect(patched(target, patch) == result)
  }

  /// Objects of many members, so that names are looked up in a table.
  @Test(arguments: 1...5 as ClosedRange<UInt64>)
  func `random patches come to what the oracle says`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    func value(_ depth: Int) -> String {
      switch random.below(depth > 2 ? 4 : 6) {
      case 0: return "null"
      case 1: return "\(random.below(3)).0"
      case 2: return #""\u0041""#
      case 3: return "[null,{\"a\":null}]"
      default: return object(depth + 1)
      }
    }
    func object(_ depth: Int) -> String {
      let names = ["a", "b", "c", #"\u0061"#, #"\u0062"#, "d e", ""]
      let count = depth == 0 ? random.below(30) : random.below(4)
      let members = (0..<count).map { number in
        let name = random.chance(60) ? names[random.below(names.count)] : "n\(number % 17)"
        return "\"\(name)\":\(value(depth))"
      }
      return "{\(members.joined(separator: ","))}"
    }
    for _ in 0..<400 {
      let target = object(0)
      let patch = object(0)
      let expected = OracleMergePatch.merge(
        try OracleJSON.parse(Array(patch.utf8)),
        into: try OracleJSON.parse(Array(target.utf8))
      )
      #expect(patched(target, patch) == String(decoding: expected, as: UTF8.self), "\(target) with \(patch)")
    }
  }

  @Test func `names spelled differently at every level are merged once a level`() {
    func nested(_ name: String, _ value: String) -> String {
      String(repeating: "{\"\(name)\":", count: 100) + value + String(repeating: "}", count: 100)
    }
    #expect(patched(nested("a", "1"), nested(#"\u0061"#, "2")) == nested(#"\u0061"#, "2"))
    #expect(patched(nested("a", "1"), nested(#"\u0061"#, "1")) == nested("a", "1"))
  }
}
