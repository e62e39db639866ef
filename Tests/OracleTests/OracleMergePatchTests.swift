import Oracle
import Testing

struct OracleMergePatchTests {
  private func merge(_ target: String, _ patch: String) throws -> String {
    text(
      OracleMergePatch.merge(try OracleJSON.parse(bytes(patch)), into: try OracleJSON.parse(bytes(target)))
    )
  }

  /// The table of RFC 7396, appendix A.
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
  func `merge patches follow the RFC`(_ target: String, _ patch: String, _ result: String) throws {
    #expect(try merge(target, patch) == result)
  }

  @Test(arguments: [
    // Unchanged members keep their order, and the spelling of name and value.
    (#"{"b":1.10,"\u0061":"\u0062"}"#, #"{"a":"\u0062","b":1.10}"#, #"{"b":1.10,"\u0061":"\u0062"}"#),
    // Another spelling is a change; a changed member takes the patch's spelling, and keeps its place.
    (#"{"a":1.0,"z":0}"#, #"{"\u0061":1.00}"#, #"{"\u0061":1.00,"z":0}"#),
    (#"{"a":{"x":1,"y":2},"z":0}"#, #"{"\u0061":{"x":3}}"#, #"{"\u0061":{"x":3,"y":2},"z":0}"#),
    (#"{"a":{"x":1},"z":0}"#, #"{"\u0061":{"x":1}}"#, #"{"a":{"x":1},"z":0}"#),
    // New members follow in the patch's order.
    (#"{"m":0}"#, #"{"z":1,"a":2,"m":0}"#, #"{"m":0,"z":1,"a":2}"#),
    // Duplicates: the last one is patched, and the others are removed; unpatched duplicates stay.
    (#"{"a":1,"b":0,"b":9,"a":2}"#, #"{"a":3}"#, #"{"b":0,"b":9,"a":3}"#),
    (#"{"a":1,"b":0,"a":2}"#, #"{"a":2}"#, #"{"b":0,"a":2}"#),
    (#"{"a":1,"b":0,"a":2}"#, #"{"a":null}"#, #"{"b":0}"#),
    (#"{"a":{"p":1},"a":{"q":2}}"#, #"{"a":{"r":3}}"#, #"{"a":{"q":2,"r":3}}"#),
    // Duplicates in the patch: the last one counts, at its place.
    ("{}", #"{"a":1,"b":2,"a":3}"#, #"{"b":2,"a":3}"#),
    (#"{"a":0}"#, #"{"a":1,"a":null}"#, "{}"),
    ("1", #"{"a":{"x":1,"x":{"y":null}}}"#, #"{"a":{"x":{}}}"#),
    // An array is taken unchanged.
    (#"{"a":1}"#, #"{"a":[null,{"b":null}]}"#, #"{"a":[null,{"b":null}]}"#),
    (#"{"a":1}"#, "{}", #"{"a":1}"#),
    ("[1]", "{}", "{}"),
  ])
  func `unchanged members keep their spelling, and changed ones take the patch's`(
    _ target: String,
    _ patch: String,
    _ result: String
  ) throws {
    #expect(try merge(target, patch) == result)
  }
}
